"""Compute rates, costs and paired differences of strategies from rows of outcomes, with their intervals.

A row is one `instance` under one `strategy`: `solved` is 100 or 0, or a mean of such values; `cost` is in any unit,
None if unknown; `turns` is optional.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thimble.lab.experiment import Row, Rows, group_rows
from thimble.lab.findings import ResultTable
from thimble.lab.statistics import compare_paired, holm, percentile_interval, resample_means, wilson_interval

MEASURES = {"solved": ("Δ solved, points", "+z.1f"), "cost": ("Δ cost", "+.4g"), "turns": ("Δ turns", "+.4g")}
"""The title and format spec of each difference."""
FEW_PAIRS = 20
"""With fewer pairs, bootstrap intervals are too narrow."""


def strategy_rates(rows: Rows) -> Row:
    """The share solved by one strategy, in percent, its mean cost, and its mean and `box` of turns if it has them.

    Every cost must be known.
    """
    solved = sum(row["solved"] > 0 for row in rows)
    low, high = wilson_interval(solved, len(rows))
    found: Row = {
        "instances": len(rows),
        "solved": 100 * solved / len(rows),
        "solved_low": 100 * low,
        "solved_high": 100 * high,
    }
    for name in ("cost", "turns"):
        values = [row[name] for row in rows if name in row]
        if values:
            low, high = percentile_interval(resample_means(values))
            found |= {name: sum(values) / len(values), f"{name}_low": low, f"{name}_high": high}
    return found | ({"turns_box": box(values)} if values else {})


def box(values: Sequence[float]) -> list[float]:
    """A box of a box plot: low, quartile, median, quartile, high, mean.

    Low and high: the furthest values within 1.5 times the distance of the quartiles from the box.
    """
    first, middle, third = np.quantile(values, [0.25, 0.5, 0.75])
    reach = 1.5 * (third - first)
    within = [value for value in values if first - reach <= value <= third + reach]
    return [*map(float, (min(within), first, middle, third, max(within), np.mean(values)))]


def differences(rows: Rows, baseline: str) -> list[Row]:
    """A row for each strategy: its differences from the baseline (rates in points), with corrected p."""
    found = group_rows(rows, "strategy")
    return correct_p_values([difference(mine, found[baseline,]) for mine in found.values()])


def difference(rows: Rows, base: Rows) -> Row:
    """The differences of one strategy from the baseline; None for the baseline itself and if there are no pairs.

    `unpaired`: the instances that only one of the two has, which no difference includes.
    """
    ours, theirs = ({row["instance"]: row for row in of} for of in (rows, base))
    strategy = rows[0]["strategy"]
    both = [] if strategy == base[0]["strategy"] else [name for name in theirs if name in ours]
    found: Row = {"strategy": strategy, "pairs": len(both)}
    for measure in MEASURES:
        values: list[list[Any]] = [[of[name].get(measure) for name in both] for of in (ours, theirs)]
        compared = compare_paired(*values) if both and None not in values[0] + values[1] else None
        found |= {
            f"{measure}_difference": compared and compared.difference,
            f"{measure}_difference_low": compared and compared.low,
            f"{measure}_difference_high": compared and compared.high,
            f"{measure}_p": compared and compared.p,
            f"{measure}_p_holm": None,
        }
    return found | {"unpaired": sorted(ours.keys() ^ theirs.keys())}


def correct_p_values(rows: Sequence[Row]) -> list[Row]:
    """Correct each p for all comparisons of the table."""
    places = [(row, f"{name}_p") for row in rows for name in MEASURES if row[f"{name}_p"] is not None]
    for (row, key), p in zip(places, holm([row[key] for row, key in places]), strict=True):
        row[f"{key}_holm"] = p
    return [*rows]


def difference_table(title: str, rows: Rows, told: str = "") -> ResultTable:
    """The differences of the strategies that share an instance with the baseline; of turns only if known."""
    names = [name for name in MEASURES if name != "turns" or any(row["turns_p"] is not None for row in rows)]
    columns = ["strategy", "pairs", *(column for name in names for column in (MEASURES[name][0], "p", "Holm"))]
    cells = [
        [row["strategy"], f"{row['pairs']:,}", *(cell for name in names for cell in _cells(row, name))]
        for row in rows
        if row["pairs"]
    ]
    return ResultTable(title, columns, cells, told)


def _cells(row: Row, name: str) -> Sequence[str]:
    if row[f"{name}_p"] is None:
        return "???"
    shown = with_interval(row, f"{name}_difference", MEASURES[name][1])
    return shown, f"{row[f'{name}_p']:.4f}", f"{row[f'{name}_p_holm']:.4f}"


def with_interval(row: Row, name: str, form: str) -> str:
    """A figure with its interval: `1.5 [1, 2]`."""
    return f"{row[name]:{form}} [{row[f'{name}_low']:{form}}, {row[f'{name}_high']:{form}}]"
