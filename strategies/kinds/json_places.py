"""Place: where a value of a JSON text stands, and where the values in it do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from strategies.json_table import NAME

STRING = r'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
TOKEN = re.compile(rf'(?:({STRING})\s*+:\s*+)?+([\[{{]|{STRING}|[^\s\[\]{{}}:,"]++)|[\]}}]')
"""A value or its opening bracket, with its name if it has one; or a closing bracket."""
PATH = 200
"""Characters of a path; of a longer one, the last."""


@dataclass(slots=True)
class Place:
    """A value of a text: its name, `.id` or `["an id"]` or `[3]`; where the name, the value and what follows begin."""

    name: str
    start: int
    value: int
    end: int
    inner: Sequence[Place] = ()

    def leaves(self, json: str, path: str = "") -> Iterator[tuple[str, str]]:
        """The values in this one that are no objects, by path. A list in it is one value."""
        if self.inner and (json[self.value] == "{" or not path):
            for one in self.inner:
                yield from one.leaves(json, (path + one.name)[-PATH:])
        else:
            yield path, json[self.value : self.end].strip('"')


def place(json: str) -> Place:
    """The place of the list or object that this text is. The text must be JSON."""
    top: list[Place] = []
    around = [(Place("", 0, 0, len(json)), top)]
    for token in TOKEN.finditer(json):
        name, value = token.groups()
        if not value:
            around.pop()[0].end = token.end()
            continue
        beside = around[-1][1]
        named = _named(name) if name else f"[{len(beside)}]"
        found = Place(named, token.start(), token.start(2), token.end())
        beside.append(found)
        if value in "[{":
            found.inner = inner = list[Place]()
            around.append((found, inner))
    return top[0]


@lru_cache(maxsize=1_000)
def _named(name: str) -> str:
    """A name with its quotes as a part of a path."""
    return f".{name[1:-1]}" if NAME.fullmatch(name[1:-1]) else f"[{name}]"
