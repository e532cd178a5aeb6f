"""A JSON document as one entry per line, whatever its layout, and pages of it that are JSON themselves."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, pairwise, takewhile
from typing import Any

from thimble.agent import foreign

ENTRY = 3_500
"""The most characters of an entry. A longer list or object is split: its items are entries."""
JSON_ENTRIES = 100_000
"""The most entries of a document."""
TEXT = 3_000
"""Characters shown of a text that is longer than an entry."""
CLOSING_SIGNS = {"[": "]", "{": "}"}

OpenValues = tuple[tuple[int, str], ...]
"""The lists and objects that are open at a place: the identity of each, and its name with its bracket."""


@dataclass(frozen=True, slots=True)
class JsonDocument:
    """The lines of a JSON list or object, and the lists and objects open at the start of each line and at the end."""

    lines: Sequence[str]
    opened: Sequence[OpenValues]

    def page(self, start: int, stop: int) -> str:
        """Lines `start` up to `stop`, counted from 0, inside the lists and objects that enclose them."""
        lines = "\n".join(self.lines[start:stop]).removesuffix(",")
        return _opening(self.opened[start]) + lines + _closing(self.opened[stop])


@lru_cache(maxsize=4)
def parse_document(text: str) -> JsonDocument | None:
    """The JSON document in a text; None without entries, with over `JSON_ENTRIES`, or beyond `agent.foreign`."""
    try:
        value = foreign.parse_json(text) if text.lstrip()[:1] in CLOSING_SIGNS else None
    except ValueError:
        return None
    entries = [*islice(_entries(value, "", ()), JSON_ENTRIES + 1)] if value else []
    if not 1 <= len(entries) <= JSON_ENTRIES:
        return None
    within = [OpenValues(), *(open_now for open_now, _ in entries), OpenValues()]
    opened = [_shared(before, after) for before, after in pairwise(within)]
    lines = [
        _opening(open_now[len(opened[at]) :]) + shown + _closing(open_now[len(opened[at + 1]) :]) + ","
        for at, (open_now, shown) in enumerate(entries)
    ]
    return JsonDocument([*lines[:-1], lines[-1].removesuffix(",")], opened)


def lay_out(text: str) -> str:
    """The text, with one entry per line if it is a JSON document."""
    found = parse_document(text)
    return "\n".join(found.lines) if found else text


def _entries(value: Any, name: str, above: OpenValues) -> Iterator[tuple[OpenValues, str]]:
    """The entries of a list or object: the lists and objects open at each, and its text."""
    named = isinstance(value, dict)
    opened = (*above, (id(value), name + ("{" if named else "[")))
    for key, inner in value.items() if named else enumerate(value):
        begins = f"{json.dumps(key, ensure_ascii=False)}: " if named else ""
        written = json.dumps(inner, ensure_ascii=False)
        if isinstance(inner, list | dict) and inner and len(written) > ENTRY:
            yield from _entries(inner, begins, opened)
        else:
            yield opened, begins + _format_value(written)


def _format_value(written: str) -> str:
    """A value as JSON, a long text cut."""
    if len(written) <= ENTRY or written[0] != '"':
        return written
    text = json.loads(written)
    more = f"… [+{len(text) - TEXT:,} characters]" if len(text) > TEXT else ""
    return json.dumps(text[:TEXT] + more, ensure_ascii=False)


def _shared(before: OpenValues, after: OpenValues) -> OpenValues:
    return tuple(one for one, _ in takewhile(lambda both: both[0] == both[1], zip(before, after, strict=False)))


def _opening(opened: OpenValues) -> str:
    return "".join(begins for _, begins in opened)


def _closing(opened: OpenValues) -> str:
    return "".join(CLOSING_SIGNS[begins[-1]] for _, begins in reversed(opened))
