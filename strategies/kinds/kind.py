"""Kind: one kind of text that tools return, and how it is cut into units."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

VARIABLE = {
    False: r"(?<![\w./:+-])[^\W\d]*+(?:[./:+-]++[^\W\d]*+)*+\d[\w./:+-]*+",
    True: r"(?<![0-9A-Za-z_./:+-])[A-Za-z_./:+-]*+[0-9][0-9A-Za-z_./:+-]*+",
}
"""A word with a digit: a number, a date, an id, a path. Lines of one shape differ in these. True: in ASCII."""
PARTED = {ascii_: re.compile(f"({variable})") for ascii_, variable in VARIABLE.items()}


@dataclass(slots=True)
class Unit:
    """A piece of a text that stays or goes whole: a line, a record, a paragraph, a hunk.

    The units of a text, joined, are that text. `shape`: units of one shape say the same about different things.
    `cells`: in what they differ; cell n of one unit compares with cell n of another one of this shape. `weight`: bits
    that its kind adds: 0 for a unit like any other, positive for a heading or a signature, negative for boilerplate.
    `shown`: how the unit is written where it stays, if that is shorter than its text. `prose`: whether it may lose the
    words that tell least. `level`: a unit stands under the nearest ones above it with lower levels, such as the names
    of a table or a line with a smaller indent, and stays only with them; None: it stands alone.

    Nobody changes a unit. It is not frozen, since one that is takes four times as long to make.
    """

    text: str
    shape: str = ""
    cells: tuple[str, ...] = ()
    weight: float = 0.0
    shown: str | None = field(default=None, compare=False)
    prose: bool = False
    level: int | None = 0


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of text. `noun`: its units in a marker, such as "log lines".

    `units` cuts a text, or returns None if the text is not of this kind. It looks at a few lines first, so that a text
    of another kind costs little; its time is linear in the text, and no text makes it fail.
    """

    name: str
    noun: str
    units: Callable[[str], Sequence[Unit] | None]


def line_unit(line: str, weight: float = 0.0, *, prose: bool = False) -> Unit:
    """A line as a unit: its shape is the line without its variables, which are its cells."""
    shape, cells = parted(line)
    return Unit(line, shape, cells, weight, prose=prose)


def parted(line: str) -> tuple[str, tuple[str, ...]]:
    """A line without its variables, and these."""
    parts = PARTED[line.isascii()].split(line)
    return "0".join(parts[::2]).strip(), tuple(parts[1::2])


@lru_cache(maxsize=1)
def first_lines(text: str) -> Sequence[str]:
    """The first lines that are not blank, by which a text is known, without blanks at their ends."""
    return list(filter(None, map(str.rstrip, text[:10_000].split("\n")[:50])))


def lines_of(text: str) -> list[str]:
    """The lines of a text with their ends; joined, they are the text. A line ends at a newline and nowhere else."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)
