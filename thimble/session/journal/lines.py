"""One record as one line of JSON in printable ASCII, with its number, time and checksum; and back."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Mapping
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
from thimble.session.journal.checksum_lines import (
    END_MISSING,
    INEXACT_FROM,
    add_checksum,
    as_fields,
    check_figures,
    fields_of,
)
from thimble.session.journal.records import RECORD_TYPES, VERSION, Branched, Change, Opened, Record, Resumed
from thimble.session.journal.values import Values

if TYPE_CHECKING:
    from pydantic import TypeAdapter

TYPE_NAMES = {kind: name for name, kind in RECORD_TYPES.items()}
VIEW_LISTS = ("messages", "fates", "left_out", "steps")
"""The fields of a view that are as long as the history; its `history` and `inserted` are computed from them."""
FIGURES = tuple(one.name for one in fields(View) if one.name not in (*VIEW_LISTS, "history", "lawful", "inserted"))
BODY_PIECE = re.compile(r"(?<=\},)(?= ?\{)")
"""A request body is cut between the objects of its lists, so that each message is written once."""
LineHead = tuple[int, float, dict[str, Any], list[Any]]
"""The parts of a line other than its record: its number, its time, its long parts, its new values."""


@dataclass(frozen=True, slots=True)
class Line:
    """A readable line: its number, counted from 1, and the time at which it was written, in seconds since 1970.

    `long` has the parts that are unpacked only when needed: the view and the tools of `Prepared`, the body of `Sent`,
    and `memory`, if the session's memory has changed. `record` lacks them: `SavedState.read` fills them in. So a lost
    line costs its own record, and the views that use its values.
    """

    number: int
    at: float
    record: Record
    long: Mapping[str, Any] = field(default_factory=dict)
    values: Values = field(default_factory=Values, compare=False, repr=False)

    def part(self, name: str, kind: Any) -> Any:
        """A long part, of this type; None if it is lost or of another type."""
        try:
            data = self.values.unpack(self.long[name])
            if name in VIEW_LISTS:
                check_figures(data)
            return type_adapter(kind).validate_python(data)
        except (KeyError, ValueError, RecursionError):
            return None


@dataclass(frozen=True, slots=True)
class Damage:
    """A line that could not be read, and the reason."""

    number: int
    why: str


class Writer:
    """Writes records as lines, one after the other. `values` are those of the lines before."""

    def __init__(self, values: Values | None = None) -> None:
        self.values = values or Values()
        self._messages: dict[Message, Any] = {}
        self._memory = ""

    def line(self, number: int, record: Record, at: float, memory: str = "") -> tuple[Line, str]:
        """The line of this number, and its text. `memory`, as JSON, is left out if it has not changed."""
        values = self.values
        values.begin(number)
        if isinstance(record, Change):
            self._memory = ""  # another branch may follow, with another memory
        long: dict[str, Any] = {}
        plain: Record = record
        if isinstance(record, Prepared):
            view = record.view
            figures = View((), (), (), **{name: getattr(view, name) for name in FIGURES})
            plain = Prepared(record.turn, record.strategy, record.model, figures, record.exact)
            long = {name: values.pack(part) for name, part in _lists(view).items()}
            long["messages"] = values.pack_list([self._packed(message) for message in view.messages])
            long["tools"] = values.pack(as_fields(record.tools))
        elif isinstance(record, Sent):
            plain, long["body"] = Sent(record.to, ""), values.pack(BODY_PIECE.split(record.body))
        data = as_fields(plain, defaults=False)
        if isinstance(plain, Prepared):
            data["view"] = {name: each for name, each in data["view"].items() if name in FIGURES}
        if memory and memory != self._memory:
            self._memory, long["memory"] = memory, values.pack(json.loads(memory))
        if "message" in data:
            values.add(number, [], data["message"])
        new = {"new": values.new} if values.new else {}
        line = Line(number, round(at, 3), plain, long, values)
        head = {"type": TYPE_NAMES[type(record)], "line": number, "at": line.at}
        return line, add_checksum({**head, **data, **({"long": long} if long else {}), **new})

    def _packed(self, message: Message) -> Any:
        if (packed := self._messages.get(message)) is None:
            data = as_fields(message, defaults=False)
            packed = self._messages[message] = self.values.reference(data) or self.values.pack(data)
        return packed


def _lists(view: View) -> dict[str, Any]:
    """The fates of the messages. Reasons are listed by rule: one rule may leave out a thousand messages."""
    left_out: dict[str, list[str]] = {}
    for id_, rule in view.left_out.items():
        left_out.setdefault(rule, []).append(id_)
    steps = {message.id: view.steps.get(message.id, ()) for message in view.messages}
    named = {id_: its for id_, its in steps.items() if any(step.by for step in its)}
    return as_fields({"fates": view.fates, "left_out": left_out, "steps": named})  # type: ignore[no-any-return]


def read_lines(data: bytes, values: Values | None = None) -> tuple[list[Line], list[Damage]]:
    """The lines of a journal by number, and its damage. A last line without an end is not damage.

    Raises:
        UsageError: another version of thimble wrote it, or it has too many lines or branches.
    """
    if data.count(b"\n") > MOST_LINES:
        raise UsageError(f"a session has at most {MOST_LINES:,} lines; this file has more", "give another file")
    values = values or Values()
    lines: dict[int, Line] = {}
    damaged: list[Damage] = []
    torn: list[Damage] = []
    *whole, unfinished = data.split(b"\n")
    known, number, last = set[int](), 0, 0
    for raw in whole:
        number += 1
        try:
            line = read_line(raw, values)
        except (ValueError, RecursionError) as error:
            known.add(number)
            torn.append(Damage(number, str(error).splitlines()[0][:100]))
            continue
        damaged += [one for one in torn if not (one.why == END_MISSING and isinstance(line.record, Resumed))]
        torn = []  # a line cut off before a resumption: the writer died there
        if line.number in lines:
            damaged.append(Damage(line.number, "it is here twice"))
        elif line.number < last:
            damaged.append(Damage(line.number, "it is not where it was written"))
        number = last = line.number
        lines.setdefault(number, line)
    with suppress(ValueError, RecursionError):  # only its end may be missing
        line = read_line(unfinished, values)
        lines.setdefault(line.number, line)
    ordered = [lines[each] for each in sorted(lines)]
    if sum(isinstance(line.record, Branched) for line in ordered) > MOST_BRANCHES:
        raise UsageError(f"a session has at most {MOST_BRANCHES:,} branches; this file has more", "give another file")
    return ordered, sorted([*damaged, *torn, *_iter_gaps(ordered, known)], key=attrgetter("number"))


def _iter_gaps(lines: list[Line], known: Container[int]) -> Iterator[Damage]:
    """The gaps between the lines, except the lines that could not be read."""
    before = 0
    for line in lines:
        gap = range(before + 1, line.number)
        if missing := next((number for number in gap[:MOST_LINES] if number not in known), 0):
            yield Damage(missing, "it is missing" if len(gap) == 1 else f"lines up to {line.number - 1} are missing")
        before = line.number


def read_line(raw: bytes, values: Values) -> Line:
    """Parse a line, given without its end, and add its new values to `values`.

    Raises:
        ValueError, RecursionError: it cannot be read.
        UsageError: another version of thimble wrote it.
    """
    if len(raw) > MOST_LINE_BYTES:
        raise ValueError(f"it is longer than {MOST_LINE_BYTES:,} bytes")
    fields = fields_of(raw)
    kind = RECORD_TYPES.get(str(fields.pop("type", "")))
    if kind is Opened and isinstance(version := fields.get("version"), int) and version != VERSION:
        newer = version > VERSION
        what = f"{'a newer' if newer else 'an older'} thimble wrote this session, and this one cannot read its format"
        raise UsageError(what, f"{'update thimble' if newer else 'start a new session'}; nothing was changed")
    if kind is None:
        raise ValueError("its type is unknown")
    number, at, long, new = type_adapter(LineHead).validate_python(
        (fields.pop("line", None), fields.pop("at", None), fields.pop("long", {}), fields.pop("new", []))
    )
    if not 0 < number < INEXACT_FROM:
        raise ValueError(f"it has the number {number}"[:60])
    values.add(number, new, fields.get("message"))
    check_figures([at, fields])
    if kind is Prepared and isinstance(view := fields.get("view"), dict):
        fields["view"] = {**view, "messages": (), "fates": (), "inserted": ()}
    record: Record = type_adapter(kind).validate_python(fields)
    if isinstance(record, Planted) and [message.role for message in record.messages][1:3] != ["assistant", "tool"]:
        raise ValueError("it plants nothing")
    return Line(number, at, record, long, values)


@cache
def type_adapter(kind: Any) -> TypeAdapter[Any]:
    """The validator of values of this type, made once."""
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
