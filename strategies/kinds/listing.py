"""listing: a table without names above its columns, as ls -l, wc and find -ls write it; a unit is a row."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise, takewhile
from statistics import mode

from strategies.kinds.kind import Kind, Unit, first_lines, line_unit, lines_of, parted

FIELDS = re.compile(r" *+([^\s]++)" + r"(?: ++([^\s]++))?+" * 15)
DIGIT = re.compile(r"\d")
LOOKED_AT = 40
"""Lines from which it is decided whether a text is a listing."""
MOST, PADDED = 0.7, 0.1
"""Shares of the first lines: which are rows with fields below those of the row above, and which blanks align."""

Spans = Sequence[tuple[int, int]]
"""Where each field of a row begins and ends; (-1, -1) for none."""


def units(text: str) -> Sequence[Unit] | None:
    """Each line is a unit, if the first fields of most first lines stand below each other, and one is a number.

    They are all fields of a row, or three at least.
    """
    lines = first_lines(text)[:LOOKED_AT]
    least = MOST * len(lines)
    if len(lines) < 3 or sum(map(bool, map(DIGIT.search, lines))) < least:
        return None
    spans = [row.regs[1:] for row in map(FIELDS.match, lines) if row]
    many = sum(1 for _ in takewhile(_aligned, zip(*spans, strict=True)))
    if many < 2:
        return None
    rows = [line.split(None, many) for line in lines]
    numbers = [n for n in range(many) if sum(_has_number(row, n) for row in rows) >= least]
    whole = many > 2 or sum(len(row) == many for row in rows) >= least
    if not numbers or not whole or not _padded([row[:many] for row in spans]):
        return None
    return [_unit(line, line.split(None, many)[:many], many, numbers[0]) for line in lines_of(text)]


def _unit(line: str, row: Sequence[str], many: int, number: int) -> Unit:
    """A row is like those that begin with its word; its last cell says how wide its fields are, but for the last."""
    if len(row) < many or not _has_number(row, number):
        return line_unit(line)
    return Unit(line, parted(row[0])[0], (*row, " ".join(str(len(field)) for field in row[:-1])))


def _has_number(row: Sequence[str], place: int) -> bool:
    return place < len(row) and bool(DIGIT.search(row[place]))


def _aligned(column: Spans) -> bool:
    """Whether most fields of a column begin or end where the one above them does."""
    pairs = list(pairwise(column))
    return sum(a[0] == b[0] >= 0 or a[1] == b[1] >= 0 for a, b in pairs) >= MOST * len(pairs)


def _padded(rows: Sequence[Spans]) -> bool:
    """Whether blanks make fields stand below each other: more than one, or not as many as in most rows."""
    gaps = [[(b[0], b[1], b[0] - a[1]) for a, b in pairwise([(0, 0), *row])] for row in rows]
    wide = sum(any(gap > 1 for _, _, gap in row[1:]) for row in gaps)
    usual = [[mode(values) for values in zip(*column, strict=True)] for column in zip(*gaps, strict=True)]
    moved = sum(
        any(a[2] != b[2] and (a[0] == b[0] or a[1] == b[1]) for a, b in zip(row, usual, strict=True)) for row in gaps
    )
    return max(wide, moved) >= PADDED * len(rows)


LISTING = Kind("table", "rows", units)
