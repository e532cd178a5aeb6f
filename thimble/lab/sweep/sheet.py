"""A sheet: the settings of one grid under one condition, with a score of each run; and the best of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum

from thimble.lab.statistics import Comparison, holm, interval, least, paired, resampled
from thimble.lab.sweep.grid import Grid

SIGNIFICANT = 0.05
SECOND_BEST, DEFAULT_SETTING = "second", "default"
Value = int | float | None


@dataclass(frozen=True, slots=True)
class GridCell:
    """A setting. `scores`: one of each run, in the order of all cells of the sheet; `more`: sums over these runs.

    A score is the change of the cost of a run against sending everything, in percent.
    """

    spec: str
    scores: Sequence[float]
    more: Mapping[str, Value]

    @property
    def mean(self) -> float:
        """The mean score."""
        return fsum(self.scores) / len(self.scores)

    @property
    def interval(self) -> tuple[float, float]:
        """Its 95 % interval, by a bootstrap over the runs."""
        return interval(resampled(self.scores))


@dataclass(frozen=True, slots=True)
class Sheet:
    """`condition`: the budget (None: none) and what else is the same for all cells; at least one run is scored.

    `runs`: their names. `cells` are by the values of the axes of the grid, in order. `default` is the grid's strategy
    without settings.
    """

    grid: Grid
    condition: Mapping[str, Value]
    runs: Sequence[str]
    cells: Mapping[tuple[str, ...], GridCell]
    default: GridCell


@dataclass(frozen=True, slots=True)
class Rival:
    """A comparison of the best cell with another one. `corrected` is its p by Holm, for all comparisons."""

    cell: GridCell
    found: Comparison
    corrected: float = 1.0

    @property
    def verdict(self) -> str:
        """Whether the runs tell the two apart."""
        if len(self.cell.scores) == 1:
            return "one run"
        if self.found.low == self.found.high == 0:
            return "same"
        apart = not self.found.low <= 0 <= self.found.high and self.corrected < SIGNIFICANT
        return "told apart" if apart else "not told apart"


@dataclass(frozen=True, slots=True)
class Best:
    """The best cell of a sheet: the first one with the best mean.

    `same`: the SPECs of the other cells with the same score in each run. `share`: how often it is the best, alone or
    not, in resamples of the runs. `rivals`: the best of those that are not the same, if there
    is one, and the default, unless the cell is it.
    """

    sheet: Sheet
    cell: GridCell
    same: Sequence[str]
    share: float
    rivals: Mapping[str, Rival]


def judged(sheets: Sequence[Sheet]) -> list[Best]:
    """The best cell of each sheet; p is corrected for the comparisons of all sheets."""
    found = [_best(sheet) for sheet in sheets]
    rivals = [rival for best in found for rival in best.rivals.values()]
    corrected = iter(holm([rival.found.p for rival in rivals]))
    return [
        replace(best, rivals={name: replace(rival, corrected=next(corrected)) for name, rival in best.rivals.items()})
        for best in found
    ]


def _best(sheet: Sheet) -> Best:
    cells = list(sheet.cells.values())
    first, *others = sorted(cells, key=lambda cell: cell.mean)  # stable: of equal ones the first in the grid

    def against(other: GridCell) -> Rival:
        return Rival(other, paired(first.scores, other.scores))

    shares = least([cell.scores for cell in cells])
    same = [cell.spec for cell in others if cell.scores == first.scores]
    second = next((cell for cell in others if cell.scores != first.scores), None)
    rivals = {SECOND_BEST: against(second)} if second else {}
    if sheet.default.spec != first.spec:
        rivals[DEFAULT_SETTING] = against(sheet.default)
    return Best(sheet, first, same, shares[cells.index(first)], rivals)
