"""JSON from a model or a server, read within bounds: too deep a nesting or too many values are refused."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

MAX_DEPTH = 64
"""Levels of lists and objects inside each other; nothing here needs more than ten."""
MAX_OBJECTS = 100_000
"""Lists, objects and named values of one document …"""
MAX_VALUES = 1_500_000
"""… and values in it. A vocabulary has 1.3 million; each takes up to 70 bytes of memory."""


def parse_json(text: str | bytes, *, strict: bool = True) -> Any:
    """Parse JSON. Raises ValueError if the text is not JSON or exceeds the bounds.

    Unescaped line breaks and other control characters in a string, as models write them, are valid unless `strict`.
    """
    bare = text.encode("utf-8", "replace") if isinstance(text, str) else text
    opened = bare.count(b"[") + bare.count(b"{")
    if opened + bare.count(b":") > MAX_OBJECTS or bare.count(b",") > MAX_VALUES:
        raise ValueError("it has too many values")
    try:
        value = json.loads(text, strict=strict)
    except RecursionError as error:
        raise ValueError("it is nested too deep") from error
    if opened > MAX_DEPTH and is_deep(value):
        raise ValueError("it is nested too deep")
    return value


def iter_strings(text: str) -> Iterator[str]:
    """Every string among the values of a document; nothing if it cannot be parsed."""
    try:
        yield from _iter_strings(parse_json(text))
    except ValueError:
        return


def _iter_strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _iter_strings(each)


def is_deep(value: Any) -> bool:
    """Whether lists and objects are nested deeper than `MAX_DEPTH`."""
    level = [value]
    for _ in range(MAX_DEPTH):
        inner = (each.values() if isinstance(each, dict) else each for each in level if isinstance(each, dict | list))
        level = [each for every in inner for each in every]
    return any(isinstance(each, dict | list) for each in level)
