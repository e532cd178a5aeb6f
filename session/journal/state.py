"""The past: the session that the lines of a journal tell of, as it stood behind the last of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from agent.events import Asked, Cancelled, Entry, Planted, Prepared, Replied, ToolReturned, Withdrawn
from agent.ledger import Ledger
from agent.messages import Message
from agent.prompts import SYSTEM
from agent.protocols import Schema, Sent
from agent.repair import is_sound, repair
from agent.view import View
from session.journal.deltas import Reader
from session.journal.lines import Line, Name, fates_of, left_out_of, messages_of, name_of
from session.journal.records import (
    VERSION,
    Branched,
    Change,
    Limited,
    Named,
    Opened,
    Record,
    Remodelled,
    Requested,
    Resumed,
    Swapped,
    Switched,
    Viewed,
)

UNKNOWN = Opened(VERSION, "", SYSTEM, "observation-masking", 8000, "reader", "", {})
"""What is taken for the first line where that is lost."""


class Pieces:
    """The readers of what is written in pieces."""

    def __init__(self) -> None:
        self.listing, self.fates, self.left_out = Reader(), Reader(), Reader()
        self.tools, self.request, self.kept = Reader(), Reader(), Reader()


@dataclass
class Past:
    """A session as it was. `lost` is what could not be read.

    `widest` is the largest budget that it had, on any branch. `at` is when its newest line was written, in seconds
    since 1970.
    """

    opened: Opened = UNKNOWN
    strategy: str = UNKNOWN.strategy
    limit: int = UNKNOWN.limit
    backend: str = UNKNOWN.backend
    model: str = UNKNOWN.model
    widest: int = 0
    name: str = ""
    at: float = 0.0
    history: list[Message] = field(default_factory=list)
    ledger: Ledger = field(default_factory=Ledger)
    planted: list[Planted] = field(default_factory=list)
    lost: list[str] = field(default_factory=list)
    _pieces: Pieces = field(default_factory=Pieces)
    _copies: dict[Name, Message] = field(default_factory=dict)
    _tools: tuple[str, Sequence[Schema]] = ("", ())

    @property
    def kept(self) -> dict[str, Any] | None:
        """What it remembered beside history and ledger; None where that is lost."""
        text = self._pieces.kept.text
        kept = _loaded(text) if text else {}
        return kept if text is not None and isinstance(kept, dict) else None

    def take(self, line: Line, whole: bool = True) -> Record:
        """Go on by one line; the record that was written there. With `whole` off a view has its figures only."""
        record = self._record(line, whole)
        self.at = self.at if isinstance(record, Resumed) else line.at
        if isinstance(record, Change):
            self.change(record)
        else:
            self._happened(record)
        if line.kept:
            self._pieces.kept.feed(line.kept)
        return record

    def _record(self, line: Line, whole: bool) -> Record:
        stored = line.stored
        if isinstance(stored, Viewed):
            return self._prepared(stored, line.number, whole)
        if isinstance(stored, Requested):
            self._pieces.request.feed(stored.body)
            return Sent(stored.to, (self._pieces.request.text or "") if whole else "")
        return stored

    def change(self, change: Change) -> None:
        """Go on by one thing that the session did itself."""
        match change:
            case Opened():
                self.opened, self.strategy, self.limit = change, change.strategy, change.limit
                self.backend, self.model = change.backend, change.model
            case Swapped():
                self.strategy = change.strategy
            case Limited():
                self.limit = change.limit
            case Remodelled():
                self.backend, self.model = change.backend, change.model
            case Named():
                self.name = change.name
            case Resumed() | Branched() | Switched():
                pass

    def _happened(self, event: Entry) -> None:
        match event:
            case Asked(message):
                self._begin()
                self.history.append(message)
            case Replied(message=message) | ToolReturned(message=message):
                self.history.append(message)
            case Cancelled(messages):
                self.history += messages
            case Withdrawn(message):
                if self.history and self.history[-1].id == message.id:
                    self.history.pop()
            case Planted(messages=messages):
                self._begin()
                self.history += messages
                self.planted += [event] if any(message.role == "tool" for message in messages) else []
        if isinstance(event, Replied) and self.ledger.prepared is None:
            self.lost.append("what a reply cost")
        else:
            self.ledger.add(event)

    def _begin(self) -> None:
        if not self.history:
            self.history.append(Message("m1", "system", self.opened.system))

    def _prepared(self, stored: Viewed, number: int, whole: bool) -> Prepared:
        pieces = self._pieces
        self._copies |= {name_of(copy): copy for copy in stored.copies}
        for reader, piece in (
            (pieces.listing, stored.listing),
            (pieces.fates, stored.fates),
            (pieces.left_out, stored.left_out),
            (pieces.tools, stored.tools),
        ):
            reader.feed(piece)
        view = View(
            messages=(),
            fates=(),
            inserted=(),
            tokens=stored.tokens,
            history_tokens=stored.history_tokens,
            limit=stored.limit,
            overhead=stored.overhead,
            cached=stored.cached,
            prefill=stored.prefill,
            edited=stored.edited,
            acted=stored.acted,
            notes=stored.notes,
            warm=stored.warm,
        )
        view = self._listed(view) if whole else view
        if whole and not view.messages:
            self.lost.append(f"what the call of line {number} was sent")
        return Prepared(
            stored.turn, stored.strategy, stored.model, view, stored.exact, self._schemas() if whole else ()
        )

    def _listed(self, view: View) -> View:
        """The view with its messages and their fates; as it is where they are lost."""
        pieces = self._pieces
        fates = fates_of(pieces.fates.text or "") or ()
        history = self.history if len(fates) == len(self.history) else repair(self.history).messages
        there = {message.id: message for message in self.history}
        messages = messages_of(pieces.listing.text or "", there, self._copies)
        there = there if history is self.history else {message.id: message for message in history}
        if messages is None or len(fates) != len(history):
            return view
        return replace(
            view,
            messages=messages,
            fates=fates,
            inserted=tuple(at for at, message in enumerate(messages) if message.id not in there),
            history=list(history),
            left_out=left_out_of(pieces.left_out.text or ""),
        )

    def _schemas(self) -> Sequence[Schema]:
        """What the newest call was told of tools; nothing where that is lost."""
        text = self._pieces.tools.text or ""
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


def past(lines: Iterable[Line]) -> Past:
    """The session behind the last of these lines."""
    told, listed = Past(), list(lines)
    newest = max((line.number for line in listed if isinstance(line.stored, Viewed)), default=0)
    for line in listed:
        told.take(line, whole=line.number >= newest)
    if told.ledger.view and not told.ledger.view.messages:
        told.ledger.prepared, told.ledger.prepared_in, told.ledger.sent = None, 0, None
    if told.kept is None:
        told.lost.append("what the session remembered")
    if not is_sound(told.history):
        told.lost.append("messages between those that are left")
        told.history = [*repair(told.history).messages]
        left = {message.id for message in told.history}
        told.planted = [planted for planted in told.planted if planted.holder.id in left]
    return told
