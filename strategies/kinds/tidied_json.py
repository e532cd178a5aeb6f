"""tidied_json: the tables that `tidy` writes of JSON; a unit is a row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from strategies.json_table import HEAD
from strategies.kinds.kind import Kind, Unit, line_unit, lines_of

BEGINS = re.compile(rf"^\[[\d,]{{1,11}}{re.escape(HEAD.split('{}')[1])}", re.MULTILINE)
ROWS = re.compile(r"(?:.*?, )?(\d{1,9}) rows(?: by key)?: ")
CELL = re.compile(r'"(?:[^"\\\n]|\\.)*+"|[\[{](?:[^\]}\n]|[\]}](?!\||$))*+[\]}]?+|[^|\n]++|(?:^|(?<=\|))')
"""A cell of a row: quoted, in brackets, plain, or empty."""
HEADING = 16.0
"""Bits of the line with the names of the columns."""


def units(text: str) -> Sequence[Unit] | None:
    """The lines of a text with such tables; a row has its cells."""
    return list(_units(lines_of(text))) if BEGINS.search(text) else None


def _units(lines: Sequence[str]) -> Iterator[Unit]:
    rows, table = 0, ""
    for line in lines:
        heading = None if rows else ROWS.match(line)
        if rows:
            yield Unit(line, table, tuple(CELL.findall(line)))
            rows -= 1
        elif heading:
            yield Unit(line, line, (), HEADING, level=-1)
            rows, table = int(heading[1]), f"{line} row"
        else:
            yield line_unit(line, HEADING if BEGINS.match(line) else 0.0)


TIDIED = Kind("tidied JSON", "rows", units)
