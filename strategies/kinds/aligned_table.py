"""aligned_table: tables with names above their columns, aligned by blanks or between bars; a unit is a row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strategies.kinds.kind import Kind, Unit, line_unit, lines_of
from strategies.kinds.table_columns import RULE, Cells, columns

SAMPLE, BEFORE = 20_000, 12
"""Characters and lines in which the names of the first table must stand."""
MOST = 2 / 3
"""Share of the lines that must be rows or names; blank and drawn lines are not counted."""
NAMES = -1
"""The level of the names, under which the rows stand."""
HEADING, PLAIN = 16.0, -8.0
"""Bits of the names of the columns, and of a line that is only drawn."""


def units(text: str) -> Sequence[Unit] | None:
    """The rows of the tables in a text, and its other lines; None unless most lines are rows."""
    sample = lines_of(text[:SAMPLE])
    if not any(columns(sample, place) for place in range(min(BEFORE, len(sample)))):
        return None
    lines = lines_of(text)
    found = list(_units(lines))
    written = sum(not RULE.fullmatch(line) and not line.isspace() for line in lines)
    return [unit for unit, _ in found] if sum(tabular for _, tabular in found) >= MOST * written else None


def _units(lines: Sequence[str]) -> Iterator[tuple[Unit, bool]]:
    """The names and rows of the tables, and the other lines; and whether each is part of a table."""
    place = 0
    while place < len(lines):
        first, cells = place, columns(lines, place)
        if not cells:
            yield _other(lines[place])
            place += 1
            continue
        place += 2 if RULE.fullmatch(lines[place + 1]) else 1
        yield Unit("".join(lines[first:place]), "names", (), HEADING, level=NAMES), True
        shape, row, after = f"row {first}", _cells(lines, place, cells), _cells(lines, place + 1, cells)
        while row or (after and lines[place].strip()):
            yield (Unit(lines[place], shape, row), True) if row else _other(lines[place])
            place += 1
            row, after = after, _cells(lines, place + 1, cells)


def _cells(lines: Sequence[str], place: int, cells: Cells) -> tuple[str, ...]:
    return cells(lines[place]) if place < len(lines) else ()


def _other(line: str) -> tuple[Unit, bool]:
    return line_unit(line, PLAIN if RULE.fullmatch(line) else 0.0), False


TABLE = Kind("table", "rows", units)
