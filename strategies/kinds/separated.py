"""separated: a table with commas, semicolons, tabs or bars between its fields; a unit is a row."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

from strategies.kinds.kind import Kind, Unit, line_unit, lines_of

SAMPLE, BEFORE = 8_000, 5
"""Characters by which a table is known, and lines that may stand before it."""
MOST = 2 / 3
"""Share of the rows that have as many fields as the first one."""
NAMED, NAMELESS, TABBED = 3, 4, 2
"""Fields of a table in which no column has a number in each row, of one without names, of one with tabs."""
NAME = re.compile(r"\s*[^\W\d][^,;|:=(){}\[\]<>\"]{0,40}(?:\([^,;|()]{0,20}\))?")
DIGIT = re.compile(r"\d")
HEADING = 16.0
"""Bits of the names of the columns."""

Row = tuple[str, tuple[str, ...]]
"""The text of a row and its fields."""


def units(text: str) -> Sequence[Unit] | None:
    """The rows of a table, with the line breaks in their quotes, and the lines around it."""
    sample = lines_of(text[:SAMPLE])[: -1 if len(text) > SAMPLE else None]
    for start in range(min(BEFORE, len(sample))):
        for mark in "\t;|,":
            if (
                mark in sample[start]
                and _can_begin(sample[start:], mark)
                and _is_table(_rows(sample[start:], mark), mark)
            ):
                lines = lines_of(text)
                rows = _rows(lines[start:], mark)
                return [*map(line_unit, lines[:start]), *_cut(rows)] if _is_table(rows, mark) else None
    return None


def _rows(lines: Sequence[str], mark: str) -> list[Row]:
    """The rows of these lines; none if they cannot be read."""
    reader, read = csv.reader(lines, delimiter=mark), 0
    rows: list[Row] = []
    try:
        for fields in reader:
            rows.append(("".join(lines[read : reader.line_num]), tuple(fields)))
            read = reader.line_num
    except csv.Error:
        return []
    return rows


def _can_begin(lines: Sequence[str], mark: str) -> bool:
    """Whether a table can begin with the first of these lines: it has names or, of many fields, none empty."""
    try:
        fields = next(csv.reader(lines, delimiter=mark), [])
    except csv.Error:
        return False
    return _are_names(fields) or _are_values(fields, mark)


def _is_table(rows: Sequence[Row], mark: str) -> bool:
    """Whether most rows have as many fields as the first one, and it has names or many fields."""
    fields = [fields for _, fields in rows if fields]
    alike = [each for each in fields[1:] if len(each) == len(fields[0])]
    if len(alike) < max(2, MOST * (len(fields) - 1)):
        return False
    numbers = any(all(map(DIGIT.search, column)) for column in zip(*alike, strict=True))
    if _are_names(fields[0]):
        return len(fields[0]) >= (2 if numbers else NAMED)
    return numbers and _are_values(fields[0], mark)


def _are_values(fields: Sequence[str], mark: str) -> bool:
    least = TABBED if mark == "\t" and " " not in fields[0] else NAMELESS
    return len(fields) >= least and all(field[:1].strip() for field in fields)


def _are_names(fields: Sequence[str]) -> bool:
    return all(map(NAME.fullmatch, fields)) and len(set(fields)) == len(fields)


def _cut(rows: Sequence[Row]) -> list[Unit]:
    """A unit for each row; a row with more or fewer fields is cut into its lines."""
    first = rows[0][1]
    found = []
    for text, fields in rows:
        if len(fields) == len(first):
            found.append(Unit(text, "row", fields))
        else:
            found += map(line_unit, lines_of(text))
    if _are_names(first):
        found[0] = Unit(rows[0][0], "names", (), HEADING, level=-1)
    return found


SEPARATED = Kind("fields", "rows", units)
