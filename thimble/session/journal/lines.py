"""One record, one line of JSON: printable ASCII, with the time and a checksum; and back, whatever the line holds."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from functools import cache
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from thimble.agent.errors import UsageError
from thimble.agent.events import Planted, Prepared
from thimble.agent.messages import Message
from thimble.agent.protocols import Sent
from thimble.agent.view import View
from thimble.session.bounded import MOST_BRANCHES, MOST_LINE_BYTES, MOST_LINES
from thimble.session.journal.checksum_lines import CUT_OFF, as_fields, as_json, checked, fields_of
from thimble.session.journal.deltas import DeltaWriter, TextDelta, checksum
from thimble.session.journal.records import (
    KINDS,
    VERSION,
    Branched,
    Change,
    Listing,
    Name,
    Opened,
    PreparedLine,
    Record,
    Resumed,
    Stored,
)

if TYPE_CHECKING:
    from pydantic import TypeAdapter

NAMES = {kind: name for name, kind in KINDS.items()}
FIGURES = (
    *("tokens", "history_tokens", "limit", "overhead", "cached", "prefill", "edited", "acted"),
    *("without", "notes", "warm", "whole_cached", "sizes"),
)
"""The fields of a view that stand on a line as they are."""
EVERYTHING = attrgetter(*(field.name for field in fields(Message)))


@dataclass(frozen=True, slots=True)
class Line:
    """A line that could be read: its number, counted from 1, and when it was written, in seconds since 1970.

    `texts` are long ones that change little from line to line: the `request` of `Sent`; of `Prepared`, as JSON, the
    `tools`, the `messages` (a `Listing`) and their `fates` (`Fates`); and what the session remembers beside history and
    ledger, as JSON, where that has changed: `kept`.
    """

    number: int
    at: float
    stored: Stored
    texts: Mapping[str, TextDelta] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Damage:
    """A line that could not be read, and why."""

    number: int
    why: str


class Writer:
    """Records as lines, one after the other."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        """Build on nothing before: it may be another branch that follows."""
        self._texts: defaultdict[str, DeltaWriter] = defaultdict(DeltaWriter)
        self._copies: dict[object, Name] = {}
        self._kept = ""

    def line(
        self, number: int, record: Record, at: float, history: Sequence[Message] = (), kept: str = ""
    ) -> tuple[Line, str]:
        """The line of this number, and its text. `history` is the session's; an unchanged `kept` is left out."""
        if isinstance(record, Change):
            self._begin()
        stored: Stored = record
        texts: dict[str, str] = {}
        if isinstance(record, Sent):
            stored, texts["request"] = Sent(record.to, ""), record.body
        elif isinstance(record, Prepared):
            names, copies = self._listed(record.view, history)
            figures = {name: getattr(record.view, name) for name in FIGURES}
            stored = PreparedLine(record.turn, record.strategy, record.model, record.exact, copies=copies, **figures)
            texts = {"tools": as_json(list(record.tools)), "messages": as_json(names), "fates": _fates(record.view)}
        if kept and kept != self._kept:
            self._kept = texts["kept"] = kept
        line = Line(number, round(at, 3), stored, {name: self._texts[name].pack(text) for name, text in texts.items()})
        kind: type = type(stored)
        return line, checked({"type": NAMES[kind], "at": line.at, **as_fields(stored), "texts": as_fields(line.texts)})

    def _listed(self, view: View, history: Sequence[Message]) -> tuple[Listing, tuple[Message, ...]]:
        """The messages of a view, and the copies among them that are on no line yet."""
        known = {message.id: message for message in history}
        names: Listing = []
        new: list[Message] = []
        for message in view.messages:
            original = known.get(message.id)
            if original is message or (original and EVERYTHING(original) == EVERYTHING(message)):
                names.append(message.id)
                continue
            everything = EVERYTHING(message)  # also what no comparison looks at
            if everything not in self._copies:
                self._copies[everything] = name_of(message)
                new.append(message)
            names.append(self._copies[everything])
        return names, tuple(new)


def _fates(view: View) -> str:
    left_out: dict[str, list[str]] = {}
    for id_, rule in view.left_out.items():
        left_out.setdefault(rule, []).append(id_)
    steps = {message.id: view.steps.get(message.id, ()) for message in view.messages}
    named = {id_: its for id_, its in steps.items() if any(step.by for step in its)}
    return as_json(as_fields({"left_out": left_out, "steps": named, "fates": view.fates}))


def parsed(kind: Any, text: str | None) -> Any:
    """What a JSON text holds, of this kind; None where it is lost, or holds something else."""
    try:
        return None if text is None else adapter(kind).validate_python(json.loads(text))  # half a letter is read, too
    except (ValueError, RecursionError):
        return None


def read(data: bytes) -> tuple[list[Line], list[Damage]]:
    """The lines of a journal, and what of it could not be read. A last line without an end is no damage.

    Raises:
        UsageError: another version of thimble wrote it, or it has too many lines or branches.
    """
    if data.count(b"\n") > MOST_LINES:
        raise UsageError(f"a session has at most {MOST_LINES:,} lines, and this file more", "give another one")
    lines: list[Line] = []
    damaged: list[Damage] = []
    *whole, unfinished = data.split(b"\n")
    for number, raw in enumerate(whole, 1):
        try:
            lines.append(read_line(number, raw))
        except (ValueError, RecursionError) as error:
            damaged.append(Damage(number, str(error).splitlines()[0][:100]))
    with suppress(ValueError, RecursionError):  # nothing but its end may be missing
        lines.append(read_line(len(whole) + 1, unfinished))
    if sum(isinstance(line.stored, Branched) for line in lines) > MOST_BRANCHES:
        raise UsageError(f"a session has at most {MOST_BRANCHES:,} branches, and this file more", "give another one")
    resumed = {line.number for line in lines if isinstance(line.stored, Resumed)}
    for damage in reversed(damaged):
        if damage.why == CUT_OFF and damage.number + 1 in resumed:
            resumed.add(damage.number)  # cut off when its writer died; so may be the line of who resumed
    return lines, [damage for damage in damaged if damage.number not in resumed]


def name_of(copy: Message) -> Name:
    """How a listing names a copy."""
    return copy.id, checksum(as_json(as_fields(copy)))


def read_line(number: int, raw: bytes) -> Line:
    """The line that these bytes are, its end left off.

    Raises:
        ValueError, RecursionError: it cannot be read.
        UsageError: a newer thimble wrote it.
    """
    if len(raw) > MOST_LINE_BYTES:
        raise ValueError(f"it is longer than {MOST_LINE_BYTES:,} bytes")
    fields = fields_of(raw)
    kind = KINDS.get(str(fields.pop("type", "")))
    if kind is Opened and isinstance(version := fields.get("version"), int) and version != VERSION:
        newer = version > VERSION
        what = f"{'a newer' if newer else 'an older'} thimble wrote this session, in a form that this one does not read"
        raise UsageError(what, f"{'update thimble' if newer else 'begin a new one'}; nothing was changed")
    if kind is None:
        raise ValueError("it is of no known type")
    texts = adapter(dict[str, TextDelta]).validate_python(fields.pop("texts", {}))
    at = adapter(float).validate_python(fields.pop("at", None))
    stored: Stored = adapter(kind).validate_python(fields)
    if isinstance(stored, Planted) and [message.role for message in stored.messages][1:3] != ["assistant", "tool"]:
        raise ValueError("it plants nothing")
    return Line(number, at, stored, texts)


@cache
def adapter(kind: Any) -> TypeAdapter[Any]:
    """Reads values of this kind, made once."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
