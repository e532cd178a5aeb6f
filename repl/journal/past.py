"""The past: the session that the lines of a journal tell of, as it stood behind the last of them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any

from agent.events import Asked, Cancelled, Entry, Planted, Prepared, Replied, ToolReturned, Withdrawn
from agent.ledger import Ledger
from agent.messages import Message
from agent.prompts import SYSTEM
from agent.protocols import Sent
from agent.repair import repair
from agent.view import View
from repl.journal.lines import Line, Strands, messages_of
from repl.journal.records import (
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


@dataclass
class Past:
    """A session as it was. `kept` is what it remembered beside history and ledger, `lost` what could not be read.

    `widest` is the largest budget that it had: a server that made room for that keeps it. `at` is when its newest line
    was written, in seconds since 1970.
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
    kept: dict[str, Any] = field(default_factory=dict)
    lost: list[str] = field(default_factory=list)
    _strands: Strands = field(default_factory=Strands)

    def take(self, line: Line) -> Record:
        """Go on by one line; the record that was written there."""
        self._strands.pass_by(line.stored)
        record = self._record(line)
        self.at = self.at if isinstance(record, Resumed) else line.at
        if isinstance(record, Change):
            self.change(record)
        else:
            self._happened(record)
        if line.kept:
            self._keep(line)
        return record

    def _record(self, line: Line) -> Record:
        stored = line.stored
        if isinstance(stored, Viewed):
            return self._prepared(stored, line.number)
        if isinstance(stored, Requested):
            return Sent(stored.to, self._strands.request.unpack(stored.body) or "")
        return stored

    def change(self, change: Change) -> None:
        """Go on by one thing that the session did itself."""
        match change:
            case Opened():
                self.opened, self.strategy, self.limit = change, change.strategy, change.limit
                self.backend, self.model = change.backend, change.model
            case Swapped():
                self.strategy = change.strategy
                self.kept.pop("strategy", None)
            case Limited():
                self.limit, self.widest = change.limit, max(self.widest, change.limit)
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
                self.planted.append(event)
        if isinstance(event, Replied) and self.ledger.prepared is None:
            self.lost.append("what a reply cost")
        else:
            self.ledger.add(event)

    def _begin(self) -> None:
        if not self.history:
            self.history.append(Message("m1", "system", self.opened.system))

    def _prepared(self, stored: Viewed, number: int) -> Prepared:
        listing, tools = self._strands.listing.unpack(stored.listing), self._strands.tools.unpack(stored.tools)
        messages = messages_of(listing, self.history) if listing else None
        fates = sum(times for _, times in stored.fates)
        history = self.history if fates == len(self.history) else repair(self.history).messages
        if messages is None or fates != len(history):
            self.lost.append(f"what the call of line {number} was sent")
            messages = None
        known = {message.id for message in history}
        view = View(
            messages=messages or (),
            fates=tuple(chain.from_iterable(repeat(*run) for run in stored.fates)) if messages else (),
            inserted=tuple(at for at, message in enumerate(messages or ()) if message.id not in known),
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
            history=list(history) if messages else (),
            left_out=stored.left_out,
        )
        return Prepared(
            stored.turn, stored.strategy, stored.model, view, stored.exact, json.loads(tools) if tools else ()
        )

    def _keep(self, line: Line) -> None:
        text = self._strands.kept.unpack(line.kept) if line.kept else None
        if text is None:
            self.lost.append(f"what the session remembered at line {line.number}")
        else:
            kept = json.loads(text)
            self.kept = kept if isinstance(kept, dict) else {}


def past(lines: Iterable[Line]) -> Past:
    """The session behind the last of these lines."""
    told = Past()
    for line in lines:
        told.take(line)
    if told.ledger.view and not told.ledger.view.messages:
        told.ledger.prepared, told.ledger.prepared_in, told.ledger.sent = None, 0, None
    return told
