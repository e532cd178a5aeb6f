"""Columns of a table: how its rows are cut into cells, found from the line with the names and a few rows below it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise, takewhile

ROWS, WIDE = 20, 500
"""Rows, and characters of the names, by which a table is known."""
BAR = re.compile(r"(?<!\\)[|\u2502\u2503]")
RULE = re.compile(r"[\s|+:=\u2500-\u257f-]*?[-=\u2500-\u257f]{2}[\s|+:=\u2500-\u257f-]*+")
"""A line that is drawn under names or around a table."""
NAMES = re.compile(r"(?=[^\n\t\"'`=;{}<>\[\]]++(?<![.,:])\n)(?=(?:[^\d\n]*+\d){0,2}+[^\d\n]*+\n)(?!(?:.* )?\d+\s).*\n")
"""A line that can have names of columns: few digits, no number, no tab, no code, no end of a sentence."""
NAME = re.compile(r".*[^\W\d_].*|[%#]|")
DIGIT = re.compile(r"\d")
OVER = 0.1
"""Share of the rows in which a word may stand across a gutter."""
FULL = 0.6
"""Share of the cells that are not empty."""

Cells = Callable[[str], tuple[str, ...]]
"""Cuts a line into cells; there are none if it is no row."""


def columns(lines: Sequence[str], place: int) -> Cells | None:
    """How rows are cut, if this line has the names of columns and the next lines are rows; else None."""
    names = lines[place]
    if len(names) > WIDE or place + 1 == len(lines) or RULE.fullmatch(names):
        return None
    rule = lines[place + 1] if RULE.fullmatch(lines[place + 1]) else ""
    if BAR.search(names):
        return _barred(names) if rule else None
    if not NAMES.fullmatch(names):
        return None
    if " " in rule.strip():
        return _aligned(_gutters([names, rule]))
    first = place + 1 + bool(rule)
    rows = list(takewhile(str.strip, lines[first : first + ROWS]))
    if not names.isupper() and 2 * sum(map(bool, map(DIGIT.search, rows))) < len(rows):
        return None
    rows = [row for row in rows if not RULE.fullmatch(row)]
    gutters = _gutters([names, *rows])
    apart = len(gutters) > 1 or any(end - start > 1 for start, end in gutters)
    cells = _aligned(gutters) if apart and len(rows) > 1 else None
    return cells if cells and _fit(cells(names), [row for row in map(cells, rows) if row]) else None


def _fit(names: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Whether these are names, since they are written in capitals or stand above numbers, and most cells are full."""
    above = zip(names, *rows, strict=True)
    numbers = any(not DIGIT.search(name) and all(map(DIGIT.search, column)) for name, *column in above)
    full = sum(bool(cell) for row in rows for cell in row) >= FULL * len(rows) * len(names)
    return full and all(map(NAME.fullmatch, names)) and (numbers or "".join(names).isupper())


def _barred(names: str) -> Cells:
    """Cells between bars, as many as there are names."""
    many = len(BAR.split(names))

    def cells(line: str) -> tuple[str, ...]:
        found = BAR.split(line)
        return tuple(map(str.strip, found)) if len(found) == many else ()

    return cells


def _aligned(gutters: Sequence[tuple[int, int]]) -> Cells | None:
    """Cells between gutters, cut at a blank of the row; a line in which words stand across half of them is no row."""
    if not gutters:
        return None

    def cells(line: str) -> tuple[str, ...]:
        line = line.rstrip()
        found, begin, across = [], 0, 0
        for start, end in gutters:
            cut = line.rfind(" ", start, end)
            if cut < 0:
                cut, across = end, across + (start < len(line))
            found.append(line[begin:cut].strip())
            begin = cut
        return (*found, line[begin:].strip()) if line and across < len(gutters) / 2 else ()

    return cells


def _gutters(lines: Sequence[str]) -> list[tuple[int, int]]:
    """Where the names, the first of these lines, and nearly all others are blank: from, to. A name follows each."""
    names, *rows = (line[:WIDE].rstrip() for line in lines)
    left = min(len(line) - len(line.lstrip()) for line in (names, *rows))
    signs = zip(names, *(row[: len(names)].ljust(len(names)) for row in rows), strict=True)
    least = (1 - OVER) * len(rows) + 1
    blank = [left <= place and one[0] == " " and one.count(" ") >= least for place, one in enumerate(signs)]
    edges = [place for place, (one, next_) in enumerate(pairwise([False, *blank])) if one != next_]
    starts, ends = edges[::2], edges[1::2]
    named = [names[end:start].strip() for end, start in zip(ends, [*starts[1:], len(names)], strict=False)]
    return [gutter for gutter, name in zip(zip(starts, ends, strict=True), named, strict=True) if name]
