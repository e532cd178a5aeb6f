"""Parse a grid of settings, written as a SPEC with values in braces: `name:window={0,1,5},tail={1..3}`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, product, zip_longest

from thimble.agent.errors import UsageError
from thimble.strategies.spec import parse_spec

BRACE_TOKEN = re.compile(r"(\{\{|\}\}|\{[^{}]*\}|[{}])")
PARAMETER_KEY = re.compile(r"([^\s:,+={}]+)\s*=\s*$")
NUMBER_RANGE = re.compile(r"([0-9]{1,9})\.\.([0-9]{1,9})")
BRACES = {"{{": "{", "}}": "}"}
GRID_FORM = "write name:key={1,2,5} or name:key={1..5}, in quotes; {{ and }} are literal braces"
MOST_VALUES = 1_000


@dataclass(frozen=True, slots=True)
class Grid:
    """A parsed grid. `axes`: the values in braces of each parameter, by name. `pieces`: the text around the braces."""

    text: str
    pieces: Sequence[str]
    axes: Mapping[str, Sequence[str]]

    def settings(self) -> Iterator[tuple[tuple[str, ...], str]]:
        """The values of each setting and its SPEC; the last axis changes fastest."""
        for values in product(*self.axes.values()):
            yield values, "".join(chain(*zip_longest(self.pieces, values, fillvalue="")))

    @property
    def default(self) -> str:
        """The SPEC of the same strategies with default settings."""
        parts = parse_spec(next(spec for _, spec in self.settings()))
        return "+".join(f"{part.name}:{part.member}" if part.member else part.name for part in parts)


def parse_grid(text: str) -> Grid:
    """Parse a grid; a SPEC without braces is a grid of one setting.

    Raises:
        UsageError: braces do not hold the values of a parameter, or there are too many values.
    """
    pieces, axes = [""], dict[str, Sequence[str]]()
    for token in BRACE_TOKEN.split(text):
        if token[:1] not in ("{", "}") or token in BRACES:
            pieces[-1] += BRACES.get(token, token)
            continue
        key = PARAMETER_KEY.search(pieces[-1])
        if len(token) == 1 or not key:
            raise UsageError(f"{text[:200]!r}: braces must hold the values of a parameter", GRID_FORM)
        axes[_named(key[1], axes)] = _values(f"{key[1]}={token}", token[1:-1])
        pieces.append("")
    return Grid(text, pieces, axes)


def _named(key: str, axes: Mapping[str, object]) -> str:
    """The name of an axis: its key, numbered if an earlier strategy has it, too."""
    same = sum(name.split(" ")[0] == key for name in axes)
    return f"{key} {same + 1}" if same else key


def _values(what: str, body: str) -> list[str]:
    """The distinct values in braces, in order."""
    values: list[str] = []
    for word in map(str.strip, body.split(",")):
        ends = NUMBER_RANGE.fullmatch(word)
        first, last = map(int, ends.groups()) if ends else (0, 0)
        if not word or abs(last - first) + len(values) >= MOST_VALUES:
            fix = GRID_FORM if not word else f"give at most {MOST_VALUES:,}"
            raise UsageError(f"{what[:200]}: {'a value is missing' if not word else 'these are too many values'}", fix)
        step = 1 if first <= last else -1
        values += map(str, range(first, last + step, step)) if ends else [word]
    return list(dict.fromkeys(values))
