"""The state of a session, rebuilt from the lines of its journal."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from thimble.agent.events import Prepared, Replied
from thimble.agent.messages import Message, Schema
from thimble.agent.protocols import Sent
from thimble.agent.repair import is_sound, repair
from thimble.agent.state import State
from thimble.agent.view import View
from thimble.session.journal.deltas import DeltaReader
from thimble.session.journal.lines import FIGURES, Line, name_of, parsed
from thimble.session.journal.records import (
    VERSION,
    Aside,
    Branched,
    Command,
    Fates,
    Listing,
    Name,
    Named,
    Opened,
    PreparedLine,
    Record,
    Resumed,
    Switched,
    Toured,
    Unanswered,
)

LOST_LINE = Opened(VERSION, "", {})
"""Stands for a first line that is lost."""


@dataclass
class SavedState(State):
    """A state with what else the lines of a journal say of the session. `lost` is what could not be read.

    `widest` is the largest budget on any branch, in tokens. `at` is when the newest line was written, in seconds since
    1970.
    """

    strategy: str = "observation-masking"
    model: str = "reader"
    opened: Opened = LOST_LINE
    widest: int = 0
    name: str = ""
    at: float = 0.0
    lost: list[str] = field(default_factory=list)
    _texts: defaultdict[str, DeltaReader] = field(default_factory=lambda: defaultdict(DeltaReader))
    _copies: dict[Name, Message] = field(default_factory=dict)
    _unnamed: list[Message] = field(default_factory=list)
    _tools: tuple[str, Sequence[Schema]] = ("", ())

    @property
    def kept(self) -> dict[str, Any] | None:
        """What the session remembered beside its state; None where that is lost."""
        text = self._texts["kept"].text
        return {} if text == "" else parsed(dict[str, Any], text)

    def read(self, line: Line, whole: bool = True) -> Record:
        """Go on by one line; the record that was written there. With `whole` off a view has its figures only."""
        for name, text in line.texts.items():
            self._texts[name].feed(text)
        record = self.record(line, whole)
        self.at = self.at if isinstance(record, Resumed) else line.at
        self.go_on(record)
        return record

    def go_on(self, record: Record) -> None:
        """Go on by one record."""
        match record:
            case Opened():
                self.opened = record
                for change in record.changes:
                    self.take(change)
            case Named():
                self.name = record.name
            case Resumed() | Toured() | Branched() | Switched() | Command() | Aside() | Unanswered():
                pass
            case _:
                if isinstance(record, Replied) and self.ledger.prepared is None:
                    self.lost.append("what a reply cost")
                self.take(record)

    def _append(self, *messages: Message) -> None:
        """Lengthen the list itself: who keeps one while lines are read takes a copy."""
        self.history += messages if self.history else (Message("m1", "system", self.system), *messages)

    def branch(self) -> SavedState:
        """A copy that goes on by itself."""
        return replace(self, history=[*self.history], ledger=self.ledger.copy(), lost=[*self.lost])

    def record(self, line: Line, whole: bool = True) -> Record:
        """The record of a line, for which those before it have been read; with `whole` off a view has its figures."""
        stored = line.stored
        if isinstance(stored, PreparedLine):
            return self._prepared(stored, line.number, whole)
        if isinstance(stored, Sent):
            return Sent(stored.to, (self._texts["request"].text or "") if whole else "")
        return stored

    def _prepared(self, stored: PreparedLine, number: int, whole: bool) -> Prepared:
        self._unnamed += stored.copies
        view = View(messages=(), fates=(), inserted=(), **{name: getattr(stored, name) for name in FIGURES})
        view = self._listed(view) if whole else view
        if whole and not view.messages:
            self.lost.append(f"what the call of line {number} was sent")
        tools = self._schemas() if whole else ()
        return Prepared(stored.turn, stored.strategy, stored.model, view, stored.exact, tools, self.ledger.view)

    def _listed(self, view: View) -> View:
        """The view with its messages and their fates; as it is where they are lost."""
        names, told = parsed(Listing, self._texts["messages"].text), parsed(Fates, self._texts["fates"].text)
        if names is None or told is None:
            return view
        self._copies |= {name_of(copy): copy for copy in self._unnamed}
        self._unnamed.clear()
        there = {message.id: message for message in self.history}
        history = self.history if len(told.fates) == len(self.history) else repair(self.history).messages
        try:
            messages = tuple(there[one] if isinstance(one, str) else self._copies[one] for one in names)
        except KeyError:
            return view
        if len(told.fates) != len(history):
            return view
        known = {message.id for message in history}
        return replace(
            view,
            messages=messages,
            fates=told.fates,
            inserted=tuple(at for at, message in enumerate(messages) if message.id not in known),
            history=list(history),
            left_out={id_: rule for rule, ids in told.left_out.items() for id_ in ids},
            steps=told.steps,
        )

    def _schemas(self) -> Sequence[Schema]:
        """What the newest call was told of tools; nothing where that is lost."""
        text = self._texts["tools"].text or ""
        if text != self._tools[0]:
            self._tools = text, parsed(list[dict[str, Any]], text) or []
        return self._tools[1]


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
