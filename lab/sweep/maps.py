"""Maps of a sweep: the cells of one grid and measure, laid out by one or two of what is swept."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from lab.sweep.sheet import Cell, Measure, Sheet

BUDGET = "budget"
Axis = tuple[str, Sequence[str]]
"""A name, and its values."""


@dataclass(frozen=True, slots=True)
class Map:
    """Cells by their values on `rows` and `columns`; `columns` is None if only one thing is swept.

    `title` names the grid and the values of all else.
    """

    title: str
    measure: Measure
    rows: Axis
    columns: Axis | None
    cells: Mapping[tuple[str, str], Cell]


def maps(sheets: Sequence[Sheet]) -> Iterator[Map]:
    """The maps of each grid and measure: parameters come before conditions, in order; one map for each of the rest."""
    groups: dict[tuple[str, str], list[Sheet]] = {}
    for sheet in sheets:
        groups.setdefault((sheet.grid.text, sheet.measure.name), []).append(sheet)
    for group in groups.values():
        yield from _maps(group)


def _maps(group: Sequence[Sheet]) -> Iterator[Map]:
    points = [
        (dict(zip(sheet.grid.axes, at, strict=True)) | conditions(sheet), cell)
        for sheet in group
        for at, cell in sheet.cells.items()
    ]
    axes = {name: list(dict.fromkeys(at[name] for at, _ in points)) for name in points[0][0]}
    down, across = [*(name for name, values in axes.items() if len(values) > 1), "", ""][:2]
    if not down:
        return
    fixed: dict[str, dict[tuple[str, str], Cell]] = {}
    for at, cell in points:
        rest = ", ".join(f"{name} {value}" for name, value in at.items() if name not in (down, across))
        fixed.setdefault(rest, {})[at[down], at.get(across, "")] = cell
    columns = (across, axes[across]) if across else None
    for rest, cells in fixed.items():
        title = ", ".join(filter(None, [group[0].grid.text, rest]))
        yield Map(title, group[0].measure, (down, axes[down]), columns, cells)


def conditions(sheet: Sheet) -> dict[str, str]:
    """The conditions of a sheet in words, by name; without those that say nothing."""
    return {
        name.replace("_", " "): "none" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
        for name, value in sheet.condition.items()
        if name == BUDGET or value is not None
    }
