"""One record, one line of JSON: printable ASCII, with the time and a checksum; and back, whatever the line holds."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, fields
from functools import cache
from itertools import chain, groupby, repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from agent.errors import UsageError
from agent.events import Planted, Prepared, SideBegan, SideCalled
from agent.fates import Fate
from agent.messages import Message
from agent.protocols import ModelId, Sent
from agent.steps import Step
from agent.view import View
from session.bounded import MOST_BRANCHES, MOST_LINE_BYTES, MOST_LINES
from session.journal.checked import CUT_OFF, as_fields, as_json, check, checked, fields_of
from session.journal.deltas import DeltaWriter, TextDelta, checksum
from session.journal.records import (
    KINDS,
    VERSION,
    Branched,
    Change,
    Opened,
    PreparedLine,
    Record,
    Resumed,
    SentLine,
    Stored,
)

if TYPE_CHECKING:
    from pydantic import TypeAdapter

NAMES = {kind: name for name, kind in KINDS.items()}
STREAMED = b'{"type":"said",'
MOST_MESSAGES = 10_000_000
FIGURES = (
    *("tokens", "history_tokens", "limit", "overhead", "cached", "prefill", "edited", "acted"),
    *("without", "notes", "warm", "sizes"),
)
"""The fields of a view that stand on a line as they are."""
EVERYTHING = attrgetter(*(field.name for field in fields(Message)))
Name = tuple[str, int]
"""How a listing names a copy: its id and a checksum."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line that could be read: its number, counted from 1, and when it was written, in seconds since 1970.

    `kept` is what the session remembers beside history and ledger, as JSON, where that has changed.
    """

    number: int
    at: float
    stored: Stored
    kept: TextDelta | None = None


@dataclass(frozen=True, slots=True)
class Damage:
    """A line that could not be read, and why."""

    number: int
    why: str


class Texts:
    """The texts of a journal that change little, and the copies that it has already, by all that they are."""

    def __init__(self) -> None:
        self.copies: dict[object, Name] = {}
        self.listing, self.fates, self.left_out = DeltaWriter(), DeltaWriter(), DeltaWriter()
        self.tools, self.request, self.kept, self.steps = DeltaWriter(), DeltaWriter(), DeltaWriter(), DeltaWriter()


class Writer:
    """Records as lines, one after the other."""

    def __init__(self) -> None:
        self._texts = Texts()
        self._kept = ""

    def line(
        self, number: int, record: Record, at: float, history: Sequence[Message] = (), kept: str = ""
    ) -> tuple[Line, str]:
        """The line of this number, and its text. `history` is the session's; an unchanged `kept` is left out."""
        if isinstance(record, Change):  # it may be another branch that follows: nothing builds on what was before
            self._texts, self._kept = Texts(), ""
        stored, delta = self._stored(record, history), None
        if kept and kept != self._kept:
            self._kept, delta = kept, self._texts.kept.pack(kept)
        line = Line(number, round(at, 3), stored, delta)
        kind: type = type(stored)
        fields = {"type": NAMES[kind], "at": line.at, **as_fields(stored)}
        return line, checked({**fields, "kept": as_fields(delta)} if delta else fields)

    def _stored(self, record: Record, history: Sequence[Message]) -> Stored:
        texts = self._texts
        if isinstance(record, Sent):
            return SentLine(record.to, texts.request.pack(record.body))
        if not isinstance(record, Prepared):
            return record
        view = record.view
        listed, copies = self._listed(view.messages, history)
        return PreparedLine(
            turn=record.turn,
            strategy=record.strategy,
            model=str(record.model),
            exact=record.exact,
            tools=texts.tools.pack(as_json(list(record.tools))),
            listing=texts.listing.pack(as_json(listed)),
            fates=texts.fates.pack(as_json([(fate, len(list(same))) for fate, same in groupby(view.fates)])),
            left_out=texts.left_out.pack(as_json(_by_rule(view.left_out))),
            steps=texts.steps.pack(as_json(_by_name(view))),
            copies=copies,
            **{name: getattr(view, name) for name in FIGURES},
        )

    def _listed(
        self, messages: Sequence[Message], history: Sequence[Message]
    ) -> tuple[list[str | Name], tuple[Message, ...]]:
        """The names of these messages, and those of them that stand on no line yet."""
        known, copies = {message.id: message for message in history}, self._texts.copies
        names: list[str | Name] = []
        new: list[Message] = []
        for message in messages:
            if _is_that(message, known.get(message.id)):
                names.append(message.id)
                continue
            everything = EVERYTHING(message)
            if everything not in copies:
                copies[everything] = name_of(message)
                new.append(message)
            names.append(copies[everything])
        return names, tuple(new)


def read(data: bytes, streamed: bool = True) -> tuple[list[Line], list[Damage]]:
    """The lines of a journal, and what of it could not be read. A last line without an end is no damage.

    With `streamed` off the pieces of replies are left out, which is quicker; their damage is told all the same.

    Raises:
        UsageError: a newer thimble wrote it, or it has too many lines or branches.
    """
    if data.count(b"\n") > MOST_LINES:
        raise UsageError(f"a session has at most {MOST_LINES:,} lines, and this file more", "give another one")
    lines: list[Line] = []
    damaged: list[Damage] = []
    *whole, unfinished = data.split(b"\n")
    for number, raw in enumerate(whole, 1):
        try:
            if not streamed and raw.startswith(STREAMED):
                check(raw)
            else:
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


def messages_of(
    listing: str, known: Mapping[str, Message], copies: Mapping[Name, Message]
) -> tuple[Message, ...] | None:
    """The messages of a listing; None where it names some that are not known, by their ids, and no copies."""
    try:
        return tuple(known[one] if isinstance(one, str) else copies[*one] for one in json.loads(listing))
    except (KeyError, TypeError, ValueError, RecursionError):
        return None


def fates_of(listed: str) -> tuple[Fate, ...] | None:
    """The fates of a listing; None where it is none, or lists more than there can be messages."""
    try:
        runs = _adapter(list[tuple[Fate, int]]).validate_json(listed)
    except ValueError:
        return None
    if any(times < 1 for _, times in runs) or sum(times for _, times in runs) > MOST_MESSAGES:
        return None
    return tuple(chain.from_iterable(repeat(*run) for run in runs))


def left_out_of(text: str) -> dict[str, str]:
    """Why messages were left out, by their ids; nothing where that is lost."""
    try:
        rules = _adapter(list[tuple[list[str], str]]).validate_python(json.loads(text))
    except (ValueError, RecursionError):
        return {}
    return {id_: rule for ids, rule in rules for id_ in ids}


def steps_of(text: str) -> dict[str, list[Step]]:
    """What changed messages, by their ids; nothing where that is lost."""
    try:
        steps = _adapter(dict[str, list[tuple[str, Fate, str, int, int]]]).validate_python(json.loads(text))
    except (ValueError, RecursionError):
        return {}
    return {id_: [Step(*step) for step in its] for id_, its in steps.items() if its}


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
    if kind is Opened and isinstance(version := fields.get("version"), int) and version > VERSION:
        what = f"a newer thimble wrote this journal (version {version}; this one reads up to {VERSION})"
        raise UsageError(what, "update thimble; nothing was changed")
    if kind is None:
        raise ValueError("it is of no known type")
    kept = fields.pop("kept", None)
    at = _adapter(float).validate_python(fields.pop("at", None))
    if kind in (SideBegan, SideCalled) and isinstance(model := fields.get("model"), str):
        fields["model"] = ModelId.read(model)
    stored: Stored = _adapter(kind).validate_python(fields)
    if isinstance(stored, Planted) and [message.role for message in stored.messages][1:3] != ["assistant", "tool"]:
        raise ValueError("it plants nothing")
    return Line(number, at, stored, None if kept is None else _adapter(TextDelta).validate_python(kept))


def _by_rule(left_out: Mapping[str, str]) -> list[tuple[list[str], str]]:
    """The ids that each rule left out, before the rule: its numbers are new in each call, the ids are not."""
    ids: dict[str, list[str]] = {}
    for id_, rule in left_out.items():
        ids.setdefault(rule, []).append(id_)
    return [(those, rule) for rule, those in ids.items()]


def _by_name(view: View) -> dict[str, list[tuple[object, ...]]]:
    """The steps of each message that is sent and that others than the strategy as a whole changed."""
    sent = ((message.id, view.steps.get(message.id, ())) for message in view.messages)
    return {id_: [*map(astuple, steps)] for id_, steps in sent if any(step.by for step in steps)}


def _is_that(message: Message, known: Message | None) -> bool:
    """Whether both are the same to the last field, also those that no comparison looks at."""
    return known is not None and (message is known or EVERYTHING(message) == EVERYTHING(known))


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
