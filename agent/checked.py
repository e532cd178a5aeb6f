"""A line of a file that nothing can spoil unseen: a JSON object in printable ASCII, with a checksum at its end."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from agent.protocols import ModelId

CHECK = len(',"crc":"01234567"}')
CUT_OFF = "the end is missing"
MOST = 2**53
"""The first figure that is too large to be one: floats, and so other readers of JSON, tell it from no greater one."""


def as_json(value: object, separators: tuple[str, str] = (",", ":")) -> str:
    """A value as JSON, without blanks unless told otherwise, every character of it printable ASCII."""
    return json.dumps(value, ensure_ascii=True, separators=separators).replace("\x7f", "\\u007f")


def as_fields(value: Any) -> Any:
    """A value as JSON takes it: the fields of a dataclass by name, whatever they hold; a model as `backend/name`."""
    if isinstance(value, str | int | float | None):
        return value
    if isinstance(value, ModelId):
        return str(value)
    if is_dataclass(value):
        return {field.name: as_fields(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {key: as_fields(each) for key, each in value.items()}
    return [as_fields(each) for each in value]


def checked(line: Mapping[str, Any]) -> str:
    """The line that holds these fields, at least one, its end included."""
    body = as_json(line)
    return f'{body[:-1]},"crc":"{zlib.crc32(body.encode()):08x}"}}\n'


def check(raw: bytes) -> None:
    """Look whether a line, given without its end, is as it was written. Raises ValueError."""
    before, end = memoryview(raw)[:-CHECK], raw[-CHECK:]
    if not (end.startswith(b',"crc":"') and end.endswith(b'"}') and len(end) == CHECK):
        raise ValueError(CUT_OFF)
    if b"%08x" % zlib.crc32(b"}", zlib.crc32(before)) != end[8:16]:
        raise ValueError("its checksum is another")


def fields_of(raw: bytes) -> dict[str, Any]:
    """The fields of a line, given without its end.

    Raises:
        ValueError, RecursionError: the line is not as it was written, or holds a number that no session has.
    """
    check(raw)
    fields = json.loads(raw, parse_int=_figure, parse_float=_figure, parse_constant=_figure)
    if not isinstance(fields, dict):
        raise ValueError("it is not an object")
    del fields["crc"]
    return fields


def _figure(text: str) -> int | float:
    """A number that a session can have: none is negative, and none takes more than 53 bits."""
    number = float(text)
    if not 0 <= number < MOST:
        raise ValueError(f"it holds the number {text[:20]}")
    return int(text) if text.isdecimal() else number
