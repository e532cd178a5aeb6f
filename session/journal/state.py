"""The state of a session, rebuilt from the lines of its journal."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agent.events import Entry, ModelChanged, Prepared, Replied, SideCalled, ToolReturned
from agent.messages import Message, Schema
from agent.prompts import SYSTEM
from agent.protocols import ModelId, Sent
from agent.repair import is_sound, repair
from agent.state import State
from agent.view import View
from session.journal.deltas import DeltaReader
from session.journal.lines import FIGURES, Line, Name, fates_of, left_out_of, messages_of, name_of, steps_of
from session.journal.records import (
    VERSION,
    Aside,
    Branched,
    Command,
    Named,
    Opened,
    PreparedLine,
    Record,
    Resumed,
    SentLine,
    Switched,
    Unanswered,
)

UNKNOWN = Opened(VERSION, "", SYSTEM, "observation-masking", 8000, "reader", "", {})
"""Stands for a first line that is lost."""
UNKNOWN_MODEL = ModelId(UNKNOWN.backend, UNKNOWN.model)


class Readers:
    """The readers of all that is written as deltas."""

    def __init__(self) -> None:
        self.listing, self.fates, self.left_out = DeltaReader(), DeltaReader(), DeltaReader()
        self.tools, self.request, self.kept, self.steps = DeltaReader(), DeltaReader(), DeltaReader(), DeltaReader()


@dataclass
class SavedState(State):
    """A state with what else the lines of a journal say of the session. `lost` is what could not be read.

    `model` is the one that answered last, `widest` the largest budget on any branch, in tokens. `at` is when the newest
    line was written, in seconds since 1970.
    """

    strategy: str = UNKNOWN.strategy
    limit: int = UNKNOWN.limit
    opened: Opened = UNKNOWN
    model: ModelId = UNKNOWN_MODEL
    widest: int = 0
    name: str = ""
    at: float = 0.0
    lost: list[str] = field(default_factory=list)
    _readers: Readers = field(default_factory=Readers)
    _copies: dict[Name, Message] = field(default_factory=dict)
    _tools: tuple[str, Sequence[Schema]] = ("", ())

    @property
    def kept(self) -> dict[str, Any] | None:
        """What the session remembered beside its state; None where that is lost."""
        text = self._readers.kept.text
        kept = _loaded(text) if text else {}
        return kept if text is not None and isinstance(kept, dict) else None

    def read(self, line: Line, whole: bool = True) -> Record:
        """Go on by one line; the record that was written there. With `whole` off a view has its figures only."""
        record = self._record(line, whole)
        self.at = self.at if isinstance(record, Resumed) else line.at
        self.go_on(record)
        if line.kept:
            self._readers.kept.feed(line.kept)
        return record

    def go_on(self, record: Record) -> None:
        """Go on by one record."""
        match record:
            case Opened():
                self.opened, self.strategy, self.limit = record, record.strategy, record.limit
                self.system, self.model = record.system, ModelId(record.backend, record.model)
                self.tidy = record.settings.get("tidy") is not False
            case Named():
                self.name = record.name
            case Resumed() | Branched() | Switched() | Command() | Aside() | Unanswered():
                pass
            case _:
                if isinstance(record, Replied) and self.ledger.prepared is None:
                    self.lost.append("what a reply cost")
                self.take(record)

    def change(self, event: Entry) -> None:
        """Go on by one event, but for what it cost."""
        super().change(event)
        if isinstance(event, ModelChanged):
            self.model = ModelId(event.backend, event.model)

    def _record(self, line: Line, whole: bool) -> Record:
        stored = line.stored
        if isinstance(stored, PreparedLine):
            return self._prepared(stored, line.number, whole)
        if isinstance(stored, SentLine):
            self._readers.request.feed(stored.body)
            return Sent(stored.to, (self._readers.request.text or "") if whole else "")
        if isinstance(stored, Replied | SideCalled | ToolReturned) and not stored.began and stored.seconds:
            return replace(stored, began=max(0.0, line.at - stored.seconds))  # an older journal does not say
        return stored

    def _prepared(self, stored: PreparedLine, number: int, whole: bool) -> Prepared:
        readers = self._readers
        self._copies |= {name_of(copy): copy for copy in stored.copies}
        for name in ("listing", "fates", "left_out", "steps", "tools"):
            getattr(readers, name).feed(getattr(stored, name))
        view = View(messages=(), fates=(), inserted=(), **{name: getattr(stored, name) for name in FIGURES})
        view = replace(view, without=view.without or view.history_tokens)  # an older journal does not say
        view = self._listed(view) if whole else view
        if whole and not view.messages:
            self.lost.append(f"what the call of line {number} was sent")
        model, tools = ModelId.read(stored.model), self._schemas() if whole else ()
        return Prepared(stored.turn, stored.strategy, model, view, stored.exact, tools, self.ledger.view)

    def _listed(self, view: View) -> View:
        """The view with its messages and their fates; as it is where they are lost."""
        readers = self._readers
        fates = fates_of(readers.fates.text or "") or ()
        history = self.history if len(fates) == len(self.history) else repair(self.history).messages
        there = {message.id: message for message in self.history}
        messages = messages_of(readers.listing.text or "", there, self._copies)
        there = there if history is self.history else {message.id: message for message in history}
        if messages is None or len(fates) != len(history):
            return view
        return replace(
            view,
            messages=messages,
            fates=fates,
            inserted=tuple(at for at, message in enumerate(messages) if message.id not in there),
            history=list(history),
            left_out=left_out_of(readers.left_out.text or ""),
            steps=steps_of(readers.steps.text or ""),
        )

    def _schemas(self) -> Sequence[Schema]:
        """What the newest call was told of tools; nothing where that is lost."""
        text = self._readers.tools.text or ""
        if text != self._tools[0]:
            tools = _loaded(text)
            self._tools = text, [one for one in tools if isinstance(one, dict)] if isinstance(tools, list) else []
        return self._tools[1]


def _loaded(text: str | None) -> object:
    """What a JSON text holds; None where it is lost or none."""
    try:
        return None if text is None else json.loads(text)
    except (ValueError, RecursionError):
        return None


def saved_state(lines: Iterable[Line]) -> SavedState:
    """The session after the last of these lines."""
    saved, listed = SavedState(), list(lines)
    newest = max((line.number for line in listed if isinstance(line.stored, PreparedLine)), default=0)
    for line in listed:
        saved.read(line, whole=line.number >= newest)
    if saved.ledger.view and not saved.ledger.view.messages:
        saved.ledger.prepared, saved.ledger.prepared_in, saved.ledger.sent, saved.ledger.replied = None, 0, None, False
    if saved.kept is None:
        saved.lost.append("what the session remembered")
    if not is_sound(saved.history):
        saved.lost.append("messages between those that are left")
        saved.history = repair(saved.history).messages
        left = {message.id for message in saved.history}
        saved.planted = tuple(planted for planted in saved.planted if planted.holder.id in left)
    return saved
