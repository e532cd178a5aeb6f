"""Table rows: rows of fields between tabs, semicolons, bars, commas or blanks; a unit is a row."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence

from thimble.strategies.compression.unit import DIGIT, Unit, line_unit, lines_of

ROWS, FIELDS = 3, 3
"""Rows of a table, and fields of a row, at least."""
MIN_ROW_SHARE = 0.7
"""Share of the lines that are rows, and of the rows that have a number in one and the same column."""

Row = tuple[str, ...]
"""The fields of a line; () if it is not a row."""


def row_units(text: str) -> Sequence[Unit] | None:
    """The lines as units; None unless most are rows with as many fields, and one column has numbers."""
    lines = lines_of(text)
    for rows in _iter_splits(lines):
        found = [row for row in rows if row]
        if len(found) < max(ROWS, MIN_ROW_SHARE * len(lines)) or len(found[0]) < FIELDS:
            continue
        if any(map(_mostly_numbers, zip(*found, strict=True))):
            return [Unit(line, "row", row) if row else line_unit(line) for line, row in zip(lines, rows, strict=True)]
    return None


def _iter_splits(lines: Sequence[str]) -> Iterator[Sequence[Row]]:
    """The lines cut into fields, in each way. The last field of a row between blanks may have blanks."""
    for mark in "\t;|,":
        if sum(mark in line for line in lines) >= MIN_ROW_SHARE * len(lines):
            cut = [_fields(line, mark) for line in lines]
            many = len(max(cut[:ROWS], key=len, default=()))
            yield [row if len(row) == many else () for row in cut]
    words = sorted(len(line.split()) for line in lines)
    many = words[int((1 - MIN_ROW_SHARE) * len(words))] if words else 0
    cut = [tuple(line.split(None, max(0, many - 1))) for line in lines]
    yield [row if len(row) == many else () for row in cut]


def _fields(line: str, mark: str) -> Row:
    """The fields between marks; () if a quote is not closed."""
    try:
        return tuple(map(str.strip, next(csv.reader([line], delimiter=mark, strict=True), ())))
    except csv.Error:
        return ()


def _mostly_numbers(column: Sequence[str]) -> bool:
    return sum(bool(DIGIT.search(field)) for field in column) >= MIN_ROW_SHARE * len(column)
