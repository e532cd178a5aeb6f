"""lines: any text, line by line; the kind of what no other kind knows."""

from __future__ import annotations

from collections.abc import Sequence

from strategies.kinds.kind import Kind, Unit, line_unit, lines_of


def units(text: str) -> Sequence[Unit]:
    """Each line is a unit; it stands under those above it with a smaller indent."""
    found = [line_unit(line) for line in lines_of(text)]
    for unit in found:
        code = unit.text.lstrip()
        unit.level = len(unit.text) - len(code) if code else None
    return found


LINES = Kind("lines", "lines", units)
