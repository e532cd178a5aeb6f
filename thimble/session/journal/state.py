"""The state of a session, rebuilt from the lines of its journal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from thimble.agent.events import Prepared, Replied
from thimble.agent.fates import Fate
from thimble.agent.messages import Message, Schema, reuse_message
from thimble.agent.protocols import Sent
from thimble.agent.repair import is_sound, repair
from thimble.agent.state import State
from thimble.agent.steps import ViewStep
from thimble.agent.view import View
from thimble.session.journal.lines import Line
from thimble.session.journal.records import (
    VERSION,
    Aside,
    Branched,
    Command,
    Named,
    Opened,
    Record,
    Resumed,
    Switched,
    Toured,
    Unanswered,
)

LOST_LINE = Opened(VERSION, "", {})
"""Replaces a lost first line."""


@dataclass
class SavedState(State):
    """A state, with the other data of a session from the lines of its journal. `lost` names the unreadable parts.

    `widest` is the largest budget on any branch, in tokens. `at` is the time of the newest line, in seconds since 1970.
    """

    strategy: str = "observation-masking"
    model: str = "reader"
    opened: Opened = LOST_LINE
    widest: int = 0
    name: str = ""
    at: float = 0.0
    lost: list[str] = field(default_factory=list)
    _memory: Line | None = None
    _tools: tuple[Any, Sequence[Schema]] = (None, ())

    @property
    def saved_memory(self) -> dict[str, Any] | None:
        """The memory of the session; None if it is lost."""
        return {} if self._memory is None else self._memory.part("memory", dict[str, Any])

    def read(self, line: Line, whole: bool = True) -> Record:
        """Apply a line and return its record. With `whole` off, a view has only its figures."""
        record = self.record(line, whole)
        if "memory" in line.long:
            self._memory = line
        self.at = self.at if isinstance(record, Resumed) else line.at
        self.apply_record(record)
        return record

    def apply_record(self, record: Record) -> None:
        """Apply a record."""
        match record:
            case Opened():
                self.opened = record
                for change in record.changes:
                    self.apply(change)
            case Named():
                self.name = record.name
            case Resumed() | Toured() | Branched() | Switched() | Command() | Aside() | Unanswered():
                pass
            case _:
                if isinstance(record, Replied) and self.ledger.prepared is None:
                    self.lost.append("the cost of a reply")
                self.apply(record)

    def _append(self, *messages: Message) -> None:
        """Append to the list itself, for speed: to keep it while lines are read, copy it."""
        self.history += messages if self.history else (Message("m1", "system", self.system), *messages)

    def branch(self) -> SavedState:
        """An independent copy."""
        return replace(self, history=[*self.history], ledger=self.ledger.copy(), lost=[*self.lost])

    def record(self, line: Line, whole: bool = True) -> Record:
        """The record of a line, once those before it have been read; with `whole` off, a view has only its figures."""
        if not whole:
            return line.record
        match line.record:
            case Prepared() as prepared:
                return self._prepared(prepared, line)
            case Sent(to):
                return Sent(to, "".join(line.part("body", list[str]) or ()))
        return line.record

    def _prepared(self, record: Prepared, line: Line) -> Prepared:
        view = self._viewed(record.view, line)
        if not view.messages:
            self.lost.append(f"the prompt of line {line.number}")
        return replace(record, view=view, tools=self._schemas(line), before=self.ledger.view)

    def _viewed(self, view: View, line: Line) -> View:
        """The view with its messages and the fates of the history's messages; unchanged if these are lost."""
        messages, fates = line.part("messages", list[Message]), line.part("fates", tuple[Fate, ...])
        left_out = line.part("left_out", dict[str, list[str]])
        steps = line.part("steps", dict[str, list[ViewStep]])
        if None in (messages, fates, left_out, steps):
            return view
        history = self.history if len(fates) == len(self.history) else repair(self.history).messages
        if len(fates) != len(history):
            return view
        there = {message.id: message for message in history}
        return replace(
            view,
            messages=tuple(reuse_message(one, there) for one in messages),
            fates=fates,
            inserted=tuple(at for at, message in enumerate(messages) if message.id not in there),
            history=list(history),
            left_out={id_: rule for rule, ids in left_out.items() for id_ in ids},
            steps=steps,
        )

    def _schemas(self, line: Line) -> Sequence[Schema]:
        """The tool schemas of the call; empty if they are lost."""
        packed = line.long.get("tools")
        if packed != self._tools[0]:
            self._tools = packed, line.part("tools", list[dict[str, Any]]) or []
        return self._tools[1]


def saved_state(lines: Iterable[Line]) -> SavedState:
    """The session after the last of these lines."""
    saved, listed = SavedState(), list(lines)
    newest = max((line.number for line in listed if isinstance(line.record, Prepared)), default=0)
    for line in listed:
        saved.read(line, whole=line.number >= newest)
    if saved.ledger.view and not saved.ledger.view.messages:
        saved.ledger.prepared, saved.ledger.prepared_in, saved.ledger.sent, saved.ledger.replied = None, 0, None, False
    if saved.saved_memory is None:
        saved.lost.append("the memory of the session")
    if not is_sound(saved.history):
        saved.lost.append("messages between the others")
        saved.history = repair(saved.history).messages
        left = {message.id for message in saved.history}
        saved.planted = tuple(planted for planted in saved.planted if planted.holder.id in left)
    return saved
