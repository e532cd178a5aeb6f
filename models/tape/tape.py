"""The lines of a tape: what was asked of models and tools, and what came back, in the order in which it happened."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from agent.checked import checked, fields_of
from agent.errors import UsageError
from agent.messages import Message, Schema, ToolCall
from agent.protocols import Delta, Sent, Text, Thinking, Usage, Waiting

if TYPE_CHECKING:
    from pydantic import TypeAdapter

VERSION = 1
Packed = tuple[int | list[int], str, Any]
"""Deltas of one kind in a row: milliseconds, kind, value. Pieces of text are a list, with a list of their times."""
Ending = Literal["whole", "error", "stopped"]


@dataclass(frozen=True, slots=True)
class Header:
    """The first line: the settings of the session that was recorded."""

    version: int
    settings: Mapping[str, str | int | float | bool]


@dataclass(frozen=True, slots=True)
class Offered:
    """What every request of the session begins with: the system prompt and the tools, those on demand apart."""

    system: str
    tools: tuple[Mapping[str, Any], ...]
    on_demand: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Voice:
    """A model speaks from here on; `part` is what the session has it for, `state` the one in which it begins.

    Each time that the session takes it up it is told anew, with the same number.
    """

    number: int
    part: str
    name: str
    model: str
    renders_tools: bool
    state: int


@dataclass(frozen=True, slots=True)
class State:
    """How a voice is told of tools and counts from here on; `learnt` is what its counter has learnt by then."""

    number: int
    voice: int
    protocol: str
    exact: bool
    learnt: Any = None


@dataclass(frozen=True, slots=True)
class Line:
    """What the user sent, a question or a command, and what it was sent under. Budget in tokens."""

    text: str
    strategy: str
    budget: int


@dataclass(frozen=True, slots=True)
class Call:
    """A model call: the digest of what was asked, what came (see `packed`), and its end.

    `state` is that of the voice behind it.
    """

    voice: int
    asked: str
    deltas: tuple[Packed, ...]
    ending: Ending
    state: int
    error: tuple[str, str] = ("", "")


@dataclass(frozen=True, slots=True)
class Sizes:
    """What messages, and tools as overhead, were counted to be in a state: tokens by digest."""

    state: int
    tokens: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A counter was told that a server read `reported` tokens where `counted` were expected."""

    state: int
    counted: int
    reported: int
    plausible: bool
    after: int


@dataclass(frozen=True, slots=True)
class Ran:
    """A tool that looks at the world ran: the digest of its name and arguments, its result, milliseconds.

    With `again` the result is that of the last time, and is not written a second time.
    """

    asked: str
    result: str
    ending: Ending
    after: int = 0
    again: bool = False


@dataclass(frozen=True, slots=True)
class Warned:
    """What a server was found to do badly."""

    voice: int
    text: str


Entry = Header | Offered | Voice | State | Line | Call | Sizes | Calibrated | Ran | Warned
KINDS: dict[str, type] = {
    "cassette": Header,
    "offered": Offered,
    "voice": Voice,
    "state": State,
    "line": Line,
    "call": Call,
    "sizes": Sizes,
    "calibrated": Calibrated,
    "ran": Ran,
    "warned": Warned,
}
NAMES = {kind: name for name, kind in KINDS.items()}
DELTAS: dict[str, type] = {
    "text": Text,
    "thinking": Thinking,
    "call": ToolCall,
    "usage": Usage,
    "waiting": Waiting,
    "sent": Sent,
}
SPOKEN = ("text", "thinking")
KIND_OF = {kind: name for name, kind in DELTAS.items()}


@dataclass
class Tape:
    """What could be read of a tape, and the numbers of the lines that could not."""

    header: Header
    entries: list[Entry] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)
    cut_off: bool = False

    @property
    def lines(self) -> list[Line]:
        """What the user sent."""
        return [entry for entry in self.entries if isinstance(entry, Line)]

    @property
    def voices(self) -> list[Voice]:
        """The models that speak."""
        return [entry for entry in self.entries if isinstance(entry, Voice)]


def written(entry: Entry) -> str:
    """The line of an entry, its end included."""
    kind: type = type(entry)
    return checked({"type": NAMES[kind], **_adapter(kind).dump_python(entry)})


def read(data: bytes, called: str) -> Tape:
    """What can be read of a tape; `called` is what errors call it.

    Raises:
        UsageError: it is no cassette, or a newer thimble made it.
    """
    *whole, unfinished = data.split(b"\n")
    tape = Tape(_header(whole[0] if whole else b"", called), cut_off=bool(unfinished))
    for number, raw in enumerate(whole[1:], 2):
        try:
            tape.entries.append(_entry(fields_of(raw)))
        except (ValueError, RecursionError):
            tape.damaged.append(number)
    return tape


def _header(raw: bytes, called: str) -> Header:
    try:
        fields = fields_of(raw)
        version = fields.get("version")
        newer = fields.get("type") == "cassette" and isinstance(version, int) and version > VERSION
        header = None if newer else _entry(fields)
    except (ValueError, RecursionError):
        newer, header = False, None
    if newer:
        what = f"a newer thimble made {called} (version {version}; this one reads up to {VERSION})"
        raise UsageError(what, "update thimble")
    if not isinstance(header, Header):
        raise UsageError(f"{called} is no cassette", "one is made with --record FILE")
    return header


def _entry(fields: dict[str, Any]) -> Entry:
    kind = KINDS.get(str(fields.pop("type", "")))
    if kind is None:
        raise ValueError("it is of no known type")
    entry: Entry = _adapter(kind).validate_python(fields)
    _check(entry)
    return entry


def _check(entry: Entry) -> None:
    """Raise ValueError for what no recording writes."""
    match entry:
        case Call():
            unpacked(entry.deltas)
        case Offered():
            if not all(isinstance(_name(tool), str) for tool in (*entry.tools, *entry.on_demand)):
                raise ValueError("a tool has no name")
        case Line() if not entry.text.strip():
            raise ValueError("nothing was sent")
        case Sizes() if any(tokens < 0 for tokens in entry.tokens.values()):
            raise ValueError("less than nothing was counted")


def _name(tool: Mapping[str, Any]) -> object:
    function = tool.get("function")
    return function.get("name") if isinstance(function, dict) else None


def packed(deltas: Iterable[tuple[int, Delta]]) -> tuple[Packed, ...]:
    """Deltas, each with the milliseconds since the one before, as they stand on the tape.

    Equal times of a row of pieces are written once.
    """
    rows: list[Packed] = []
    for kind, row in groupby(deltas, key=lambda one: KIND_OF[type(one[1])]):
        if kind in SPOKEN:
            said = [(time, delta.text) for time, delta in row if isinstance(delta, Text | Thinking)]
            times = [time for time, _ in said]
            rows.append((times[0] if len(set(times)) == 1 else times, kind, [text for _, text in said]))
        else:
            rows += [(time, kind, _adapter(DELTAS[kind]).dump_python(delta)) for time, delta in row]
    return tuple(rows)


def unpacked(rows: Iterable[Packed]) -> list[tuple[int, Delta]]:
    """The deltas that stand on the tape. Raises ValueError where one is none."""
    deltas: list[tuple[int, Delta]] = []
    for times, kind, value in rows:
        if kind not in DELTAS:
            raise ValueError("a delta is of no known kind")
        values = [{"text": text} for text in value] if kind in SPOKEN and isinstance(value, list) else [value]
        each = times if isinstance(times, list) else [times] * len(values)
        made = map(_adapter(DELTAS[kind]).validate_python, values)
        deltas += zip(each, made, strict=True)
    return deltas


def asked(messages: Sequence[Message], tools: Sequence[Schema], max_tokens: int | None) -> str:
    """The digest of a model call: the messages as they are sent, the tools, the most tokens of a reply."""
    return digest([[_sent(message) for message in messages], list(tools), max_tokens])


def counted(message: Message) -> str:
    """The digest of a message as it is counted."""
    return digest(_sent(message))


def digest(value: object) -> str:
    """Sixteen letters that no two requests of a session have in common."""
    return sha256(json.dumps(value, ensure_ascii=True, sort_keys=True, default=dict).encode()).hexdigest()[:16]


def _sent(message: Message) -> list[object]:
    calls = [[call.id, call.name, call.arguments] for call in message.calls]
    return [message.role, message.content, calls, message.call_id, message.name]


@cache
def _adapter(kind: type) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(kind)
