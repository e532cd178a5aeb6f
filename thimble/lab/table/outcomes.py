"""Anybody's rows: rates, costs and paired differences of each strategy, with their intervals."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from thimble.agent.errors import UsageError, did_you_mean
from thimble.lab.csv_records import read
from thimble.lab.statistics import holm, interval, paired, resampled, wilson

OUTCOME_COLUMNS = ("instance", "strategy", "solved", "cost")
MEASURES = ("solved", "cost")
FEW_PAIRS = 20
"""With fewer pairs, the interval of a bootstrap is too narrow."""
NAMED_INSTANCES = 20
"""The most instances that a line names."""

OutcomeRow = dict[str, Any]


class Outcome(NamedTuple):
    """One instance under one strategy: 100 if solved, else 0; the cost in any unit, None if unknown."""

    solved: float
    cost: float | None


Outcomes = Mapping[str, Mapping[str, Outcome]]
"""By strategy and instance, in the order of the file."""


def outcomes(path: Path) -> Outcomes:
    """The records of a file by strategy and instance.

    Raises:
        UsageError: the file or a value is wrong, an instance is there twice, or there is none.
    """
    found: dict[str, dict[str, Outcome]] = {}
    for record in read(path, OUTCOME_COLUMNS):
        strategy, instance = record.name("strategy"), record.name("instance")
        if instance in found.setdefault(strategy, {}):
            raise UsageError(f"{record.place}: {strategy} has {instance} already", "give each instance once")
        found[strategy][instance] = Outcome(100.0 * record.truth("solved"), record.number("cost"))
    if not found:
        raise UsageError(f"{path} has no rows", "give a row for each instance and strategy")
    return found


def chosen(found: Outcomes, baseline: str | None) -> str:
    """The strategy to compare with: the first one if none is named.

    Raises:
        UsageError: there is no such strategy.
    """
    if baseline is None or baseline in found:
        return baseline or next(iter(found))
    rest = f"the file has {', '.join(found)[:200]}"
    raise UsageError(f"there is no strategy {baseline[:60]!r}", did_you_mean(baseline, found, rest))


def compared(found: Outcomes, baseline: str) -> list[OutcomeRow]:
    """A row for each strategy: `differences`, and rates and costs by themselves. Rates are in percent."""
    return [_absolute(found[row["strategy"]]) | row for row in differences(found, baseline)]


def differences(found: Outcomes, baseline: str) -> list[OutcomeRow]:
    """A row for each strategy: its differences from the baseline, of rates in points.

    An instance that only one of the two has is under `unpaired` and in no difference. The corrected p is for all
    comparisons of the table.
    """
    base = found[baseline]
    rows: list[OutcomeRow] = [
        {"strategy": name, **_difference(run, base, name == baseline)} for name, run in found.items()
    ]
    places = [(row, f"{measure}_p") for row in rows for measure in MEASURES if row[f"{measure}_p"] is not None]
    for (row, key), corrected in zip(places, holm([row[key] for row, key in places]), strict=True):
        row[f"{key}_holm"] = corrected
    return rows


def _absolute(run: Mapping[str, Outcome]) -> OutcomeRow:
    solved = sum(outcome.solved > 0 for outcome in run.values())
    costs = [outcome.cost for outcome in run.values() if outcome.cost is not None]
    low, high = wilson(solved, len(run))
    cost_low, cost_high = interval(resampled(costs))
    return {
        "instances": len(run),
        "solved": 100 * solved / len(run),
        "solved_low": 100 * low,
        "solved_high": 100 * high,
        "cost": float(np.mean(costs)),
        "cost_low": cost_low,
        "cost_high": cost_high,
    }


def _difference(run: Mapping[str, Outcome], base: Mapping[str, Outcome], same: bool) -> OutcomeRow:
    """The differences from the baseline; None for the baseline itself, and where there is no pair."""
    both = [] if same else [name for name in base if name in run]
    row: OutcomeRow = {"pairs": len(both)}
    for measure in MEASURES:
        values = [[getattr(of[name], measure) for name in both] for of in (run, base)]
        found = paired(*values) if both and None not in chain(*values) else None
        row |= {
            f"{measure}_difference": found and found.difference,
            f"{measure}_difference_low": found and found.low,
            f"{measure}_difference_high": found and found.high,
            f"{measure}_p": found and found.p,
            f"{measure}_p_holm": None,
        }
    return row | {"unpaired": sorted(run.keys() ^ base.keys())}


def notes(rows: Sequence[OutcomeRow], baseline: str) -> Iterator[str]:
    """What a reader of the rows must know: which instances are in no difference, and where pairs are few."""
    for row in rows:
        names, of = row["unpaired"], row["strategy"]
        if names:
            more = (
                f" and {len(names) - NAMED_INSTANCES:,} more (--json names all)" if len(names) > NAMED_INSTANCES else ""
            )
            yield f"Only {of} or only {baseline} has {', '.join(names[:NAMED_INSTANCES])}{more}: left out of Δ."
        if of != baseline and row["pairs"] < FEW_PAIRS:
            yield f"{of} has {row['pairs']} pairs: so few make the interval of Δ too narrow and p too small."
