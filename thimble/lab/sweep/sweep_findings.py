"""What a sweep found: maps, all settings and the best ones for people; a record for each cell for programs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from thimble.lab.findings import Findings, ResultTable
from thimble.lab.sweep.sheet import Best, GridCell, Sheet

MEANING = (
    "*: the best of its condition. In brackets: 95 % intervals, by a bootstrap over the runs. p: corrected for all "
    "comparisons (Holm). The best is chosen on the same runs that it is compared on, which flatters it; chosen: how "
    "often it is the best in resamples of the runs, where equal ones are chosen together."
)
MapPlace = tuple[str, str]
"""A cell of a map: its row and its column; "" where there is one column."""


def findings(sheets: Sequence[Sheet], bests: Sequence[Best], told: Sequence[str]) -> Findings:
    """What is shown of these sheets."""
    return Findings(
        "Settings of strategies",
        told,
        [*_maps(sheets, {id(best.cell) for best in bests}), _all(sheets), _best(bests)],
        list(records(bests)),
        after=[MEANING],
    )


def records(bests: Sequence[Best]) -> Iterator[dict[str, Any]]:
    """`best` is 1 for the best cell of a sheet, `default` for its default; `p` and `verdict` compare it with the best.

    `scores` are in the order of `runs`.
    """
    for best in bests:
        sheet = best.sheet
        rivals = {id(rival.cell): rival for rival in best.rivals.values()}
        for cell in (*sheet.cells.values(), sheet.default):
            low, high = cell.interval
            rival = rivals.get(id(cell))
            yield {
                "grid": sheet.grid.text,
                **sheet.condition,
                "strategy": cell.spec,
                "mean": cell.mean,
                "low": low,
                "high": high,
                "best": int(cell is best.cell),
                "default": int(cell is sheet.default),
                "p": rival and rival.corrected,
                "verdict": rival and rival.verdict,
                **cell.more,
                "runs": list(sheet.runs),
                "scores": list(cell.scores),
            }


def conditions(sheet: Sheet) -> dict[str, str]:
    """The conditions of a sheet in words, by name; without those that say nothing."""
    return {
        name.replace("_", " "): "none" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.4g}"
        for name, value in sheet.condition.items()
        if name == "budget" or value is not None
    }


def _maps(sheets: Sequence[Sheet], marked: set[int]) -> Iterator[ResultTable]:
    """The maps of each grid: parameters come before conditions, in order; one map for each of the rest."""
    groups: dict[str, list[Sheet]] = {}
    for sheet in sheets:
        groups.setdefault(sheet.grid.text, []).append(sheet)
    for grid, group in groups.items():
        points = [
            (dict(zip(sheet.grid.axes, at, strict=True)) | conditions(sheet), cell)
            for sheet in group
            for at, cell in sheet.cells.items()
        ]
        swept = [name for name in points[0][0] if len({at[name] for at, _ in points}) > 1]
        if not swept:
            continue
        down, across = [*swept, ""][:2]
        maps: dict[str, dict[MapPlace, GridCell]] = {}
        for at, cell in points:
            rest = ", ".join(f"{name} {value}" for name, value in at.items() if name not in (down, across))
            maps.setdefault(rest, {})[at[down], at.get(across, "")] = cell
        for rest, cells in maps.items():
            title = ", ".join(filter(None, [f"change of a run's cost against sending everything, %: {grid}", rest]))
            yield _map(title, down, across, cells, marked)


def _map(title: str, down: str, across: str, cells: Mapping[MapPlace, GridCell], marked: set[int]) -> ResultTable:
    rows, columns = (list(dict.fromkeys(place[at] for place in cells)) for at in (0, 1))
    means = {place: shown(cell.mean) + ("*" if id(cell) in marked else " ") for place, cell in cells.items()}
    if across:
        names = [f"{down} ↓  {across} →", *columns]
        return ResultTable(title, names, [[row, *(means[row, column] for column in columns)] for row in rows])
    written = [_interval(cell.interval, shown, len(cell.scores)) for cell in cells.values()]
    return ResultTable(title, [down, "mean", "95 %"], list(zip(rows, means.values(), written, strict=True)))


def shown(change: float) -> str:
    """A change in percent for people."""
    return f"{change:+z.1f}".replace("-", "−")


def apart(difference: float) -> str:
    """A difference of changes for people."""
    return f"{difference:+z.2f}".replace("-", "−")


def _interval(ends: tuple[float, float], form: Callable[[float], str], runs: int) -> str:
    return f"[{form(ends[0])}, {form(ends[1])}]" if runs > 1 else ""


def _all(sheets: Sequence[Sheet]) -> ResultTable:
    """Every setting, and the defaults: a row for each budget, a column for each price."""
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for sheet in sheets:
        at = conditions(sheet)
        price = at.pop("cached price")
        name = f"cost @{price}"
        for cell in [*sheet.cells.values(), sheet.default]:
            row = rows.setdefault((cell.spec, *at.values()), {"setting": cell.spec} | at)
            row[name] = shown(cell.mean)
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    return ResultTable(
        "All settings, and the defaults", names, [[row[name] for name in names] for row in rows.values()]
    )


def _best(bests: Sequence[Best]) -> ResultTable:
    """The best setting of each sheet, and the comparisons with the second best and the default."""
    rows = []
    for best in bests:
        runs = len(best.cell.scores)
        rows.append([", ".join(["cost", *map(" ".join, conditions(best.sheet).items())]), "", "", ""])
        same = f" and {len(best.same)} with the same scores" if best.same else ""
        mean = f"{shown(best.cell.mean)} {_interval(best.cell.interval, shown, runs)}"
        rows.append([f"  {best.cell.spec}{same}", mean.strip(), "", f"chosen {best.share:.0%}" if runs > 1 else ""])
        for name, rival in best.rivals.items():
            found = rival.found
            difference = f"{apart(found.difference)} {_interval((found.low, found.high), apart, runs)}"
            p = f"{rival.corrected:.4f}" if runs > 1 else ""
            rows.append([f"  against the {name}, {rival.cell.spec}", difference.strip(), p, rival.verdict])
    return ResultTable("The best", ["setting", "mean, or difference", "p", "verdict"], rows, texts=4)
