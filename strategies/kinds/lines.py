"""lines: any text, line by line; the kind of what no other kind knows."""

from __future__ import annotations

from collections.abc import Sequence

from strategies.kinds.kind import Kind, Unit, line_unit, lines_of


def units(text: str) -> Sequence[Unit]:
    """Each line is a unit."""
    return [line_unit(line) for line in lines_of(text)]


LINES = Kind("lines", "lines", units)
