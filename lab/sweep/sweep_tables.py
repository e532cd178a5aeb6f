"""The sheets of a sweep as tables for people, in a terminal or in Markdown: maps, all settings, the best ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from lab import findings as forms
from lab.sweep.maps import Map, conditions, maps
from lab.sweep.sheet import Best, Cell, Measure, Sheet

if TYPE_CHECKING:
    from rich.console import Console

BAR = 24
"""Columns of the longest bar."""
LIGHT, DARK = (247, 251, 255), (107, 174, 214)
"""The colours of the least and the largest value of a map: black text can be read on both."""
MARK = "*"
MARKED = f"{MARK}: the best of its condition."
MEANING = (
    "In brackets: 95 % intervals, by a bootstrap over the runs. p: corrected for all comparisons (Holm). The best is "
    "chosen on the same runs that it is compared on, which flatters it; chosen: how often it is the best in resamples "
    "of the runs, where equal ones are chosen together."
)


@dataclass(frozen=True, slots=True)
class Shown:
    """A table. `shades`: how large the value of a cell is among all, from 0 to 1, by row and column."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    shades: Mapping[tuple[int, int], float] = field(default_factory=dict)


def shown(sheets: Sequence[Sheet], bests: Sequence[Best]) -> Iterator[Shown]:
    """Every table, in order."""
    marked = {id(best.cell) for best in bests}
    for one in maps(sheets):
        yield _heat(one, marked) if one.columns else _bars(one, marked)
    yield _all(sheets)
    yield best_table(bests)


def _heat(one: Map, marked: set[int]) -> Shown:
    assert one.columns
    means = [cell.mean for cell in one.cells.values()]
    low, span = min(means), max(means) - min(means)
    rows: list[list[str]] = []
    shades: dict[tuple[int, int], float] = {}
    for down, row in enumerate(one.rows[1]):
        cells = [one.cells[row, column] for column in one.columns[1]]
        rows.append([row, *(_marked(cell, one.measure, marked) for cell in cells)])
        shades |= {(down, at): (cell.mean - low) / span if span else 0 for at, cell in enumerate(cells, 1)}
    columns = [f"{one.rows[0]} ↓  {one.columns[0]} →", *one.columns[1]]
    return Shown(f"{one.measure.unit}: {one.title}", columns, rows, shades)


def _bars(one: Map, marked: set[int]) -> Shown:
    cells = {row: one.cells[row, ""] for row in one.rows[1]}
    most = max(cell.mean - one.measure.base for cell in cells.values()) or 1
    rows = [
        [row, _marked(cell, one.measure, marked), _interval(cell.interval, one.measure.shown, len(cell.scores)),
         "█" * round(BAR * (cell.mean - one.measure.base) / most)]
        for row, cell in cells.items()
    ]  # fmt: skip
    title = f"{one.measure.unit}: {one.title}"
    return Shown(title, [one.rows[0], "mean", "95 %", f"from {one.measure.base:g}".replace("-", "−")], rows)


def _marked(cell: Cell, measure: Measure, marked: set[int]) -> str:
    return f"{measure.shown(cell.mean)}{MARK if id(cell) in marked else ' '}"


def _interval(ends: tuple[float, float], form: Callable[[float], str], runs: int) -> str:
    return f"[{form(ends[0])}, {form(ends[1])}]" if runs > 1 else ""


def _all(sheets: Sequence[Sheet]) -> Shown:
    """Every setting, and the defaults: a row for each budget, a column for each measure and price."""
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for sheet in sheets:
        at = conditions(sheet)
        price = at.pop("cached price", "")
        name = f"{sheet.measure.name} @{price}" if price else sheet.measure.name
        for cell in [*sheet.cells.values(), sheet.default]:
            row = rows.setdefault((cell.spec, *at.values()), {"setting": cell.spec} | at)
            row[name] = sheet.measure.shown(cell.mean)
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    return Shown("All settings, and the defaults", names, [[row[name] for name in names] for row in rows.values()])


def best_table(bests: Sequence[Best]) -> Shown:
    """The best setting of each sheet, and the comparisons with the second best and the default."""
    rows = []
    for best in bests:
        measure, runs = best.sheet.measure, len(best.cell.scores)
        rows.append([", ".join([measure.name, *map(" ".join, conditions(best.sheet).items())]), "", "", ""])
        same = f" and {len(best.same)} with the same scores" if best.same else ""
        mean = _with_interval(best.cell.mean, best.cell.interval, measure.shown, runs)
        rows.append([f"  {best.cell.spec}{same}", mean, "", f"chosen {best.share:.0%}" if runs > 1 else ""])
        for name, rival in best.rivals.items():
            found = rival.found
            difference = _with_interval(found.difference, (found.low, found.high), measure.apart, runs)
            p = f"{rival.corrected:.4f}" if runs > 1 else ""
            rows.append([f"  against the {name}, {rival.cell.spec}", difference, p, rival.verdict])
    return Shown("The best", ["setting", "mean, or difference", "p", "verdict"], rows)


def _with_interval(value: float, ends: tuple[float, float], form: Callable[[float], str], runs: int) -> str:
    return f"{form(value)} {_interval(ends, form, runs)}".strip()


# --- forms ------------------------------------------------------------------------------------------------------------


def show(console: Console, told: Sequence[str], tables: Sequence[Shown]) -> None:
    """Print the lines and the tables in a terminal, with the shades as colours."""
    from rich.text import Text

    console.print(*told, sep="\n", highlight=False, markup=False)
    for table in tables:
        drawn = forms.drawn(table.columns)
        for column in drawn.columns[1:] if not table.shades else ():
            column.justify = "left"
        for down, row in enumerate(table.rows):
            drawn.add_row(*(Text(cell, _style(table.shades.get((down, at)))) for at, cell in enumerate(row)))
        console.print(f"\n{table.title}\n", highlight=False, markup=False)
        console.print(drawn)
    console.print(f"\n{MARKED} {MEANING}", highlight=False, markup=False)


def _style(shade: float | None) -> str:
    if shade is None:
        return ""
    red, green, blue = (round(low + shade * (high - low)) for low, high in zip(LIGHT, DARK, strict=True))
    return f"black on rgb({red},{green},{blue})"


def markdown(told: Sequence[str], tables: Sequence[Shown]) -> Iterator[str]:
    """The same as lines of Markdown."""
    yield from told
    for table in tables:
        yield f"\n{table.title}\n"
        rows = ([cell.strip().replace(MARK, r"\*") for cell in row] for row in table.rows)
        yield from forms.markdown(table.columns, rows, table.columns[1:] if table.shades else ())
    yield f"\n{MARKED} {MEANING}"
