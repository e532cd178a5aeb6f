"""Lines of a file with a checksum, so that damage is noticed: each is a JSON object in printable ASCII."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any

CHECK = len(',"crc":"01234567"}')
END_MISSING = "the end is missing"
INEXACT_FROM = 2**53
"""The smallest integer that is too large: as a float, as in other JSON parsers, it equals the next one."""


encode = json.JSONEncoder(separators=(",", ":")).encode  # one encoder: `dumps` makes one a call


def as_json(value: object) -> str:
    """A value as JSON in printable ASCII, without blanks."""
    return encode(value).replace("\x7f", "\\u007f")


def as_fields(value: Any, defaults: bool = True) -> Any:
    """A value in JSON types: a dataclass becomes its fields by name, `if_set` ones only if set.

    With `defaults` off, fields that have their defaults are left out; reading restores them.
    """
    if isinstance(value, str | int | float | None):
        return value
    if is_dataclass(value):
        named = ((name, getattr(value, name), default, if_set) for name, default, if_set in _fields(value.__class__))
        return {
            name: as_fields(each, defaults)
            for name, each, default, if_set in named
            if (defaults and not if_set) or each != default
        }
    if isinstance(value, Mapping):
        return {key: as_fields(each, defaults) for key, each in value.items()}
    return [as_fields(each, defaults) for each in value]


@cache
def _fields(kind: Any) -> list[tuple[str, Any, bool]]:
    """The fields of a dataclass, each with its default and whether it is marked `if_set`."""
    made = ((each, each.default_factory) for each in fields(kind))
    return [
        (each.name, make() if make is not MISSING else each.default, "if_set" in each.metadata) for each, make in made
    ]


def add_checksum(line: Mapping[str, Any]) -> str:
    """The line with these fields (at least one), line end included."""
    body = as_json(line)
    return f'{body[:-1]},"crc":"{zlib.crc32(body.encode()):08x}"}}\n'


def verify_checksum(raw: bytes) -> None:
    """Raise ValueError if a line, given without its end, has changed since it was written."""
    before, end = memoryview(raw)[:-CHECK], raw[-CHECK:]
    if not (end.startswith(b',"crc":"') and end.endswith(b'"}') and len(end) == CHECK):
        raise ValueError(END_MISSING)
    if b"%08x" % zlib.crc32(b"}", zlib.crc32(before)) != end[8:16]:
        raise ValueError("its checksum is wrong")


def fields_of(raw: bytes) -> dict[str, Any]:
    """The fields of a line, given without its end.

    Raises:
        ValueError, RecursionError: the line has changed since it was written.
    """
    verify_checksum(raw)
    fields = json.loads(raw)
    if not isinstance(fields, dict):
        raise ValueError("it is not an object")
    del fields["crc"]
    return fields


def check_figures(data: Any) -> None:
    """Raise ValueError for a number that a record cannot have: it is negative, or has more than 53 bits."""
    if isinstance(data, dict | list):
        for part in data.values() if isinstance(data, dict) else data:
            if type(part) is not str:  # most are, and a call for each is slow
                check_figures(part)
    elif isinstance(data, int | float) and not 0 <= data < INEXACT_FROM:
        raise ValueError(f"it contains the number {str(data)[:20]}")
