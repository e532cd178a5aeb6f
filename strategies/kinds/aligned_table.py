"""aligned_table: tables with names above their columns, aligned by blanks or between bars; a unit is a row."""

from __future__ import annotations

from collections.abc import Sequence

from strategies.kinds.kind import Kind, Unit, line_unit, lines_of
from strategies.kinds.table_columns import RULE, columns

SAMPLE, BEFORE = 20_000, 12
"""Characters and lines in which the names of the first table must stand."""
MOST = 2 / 3
"""Share of the lines that must be rows or names; blank and drawn lines are not counted."""
HEADING, PLAIN = 16.0, -8.0
"""Bits of the names of the columns, and of a line that is only drawn."""


def units(text: str) -> Sequence[Unit] | None:
    """The rows of the tables in a text, and its other lines."""
    sample = lines_of(text[:SAMPLE])
    if not any(columns(sample, place) for place in range(min(BEFORE, len(sample)))):
        return None
    found: list[Unit] = []
    lines, place, tabular = lines_of(text), 0, 0
    while place < len(lines):
        first, cells = place, columns(lines, place)
        if not cells:
            found.append(_other(lines[place]))
            place += 1
            continue
        place += 2 if RULE.fullmatch(lines[place + 1]) else 1
        found.append(Unit("".join(lines[first:place]), "names", (), HEADING))
        tabular += 1
        while any(map(cells, lines[place : place + 2])) and lines[place].strip():
            row = cells(lines[place])
            found.append(Unit(lines[place], f"row {first}", row) if row else _other(lines[place]))
            tabular += bool(row)
            place += 1
    written = sum(not RULE.fullmatch(line) and not line.isspace() for line in lines)
    return found if tabular >= MOST * written else None


def _other(line: str) -> Unit:
    return line_unit(line, PLAIN if RULE.fullmatch(line) else 0.0)


TABLE = Kind("table", "rows", units)
