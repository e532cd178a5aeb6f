"""Recompute the figures in the tables' cells from published rows, each with its Monte Carlo error.

An instance without a published row counts as not solved, which reproduces every printed solve rate; costs and turns
leave it and its pair out.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from scripts.paper_tables.printed import (
    COST,
    COST_WITHOUT,
    MASKING,
    NUMBER,
    RAW,
    SOLVED,
    SUMMARY,
    THINKING,
    TURNS,
    half_unit,
)
from scripts.paper_tables.published import Runs
from thimble.lab.statistics import RESAMPLES, TAILS, Comparison, Floats, percentile_interval, resample_means, two_sided

ERRORS = 4
"""The tolerance in standard errors: by chance, one figure in 16,000 is beyond it."""
FIELDS = {COST: "cost", COST_WITHOUT: "cost_without_summaries", TURNS: "turns", THINKING: "thinking"}
"""The field of an outcome for each measure."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A recomputed figure, and its range over other resamples.

    `own`: the same figure computed from rounded, printed ones. `reason`: why the printed one can differ.
    """

    value: float
    low: float
    high: float
    reason: str = ""
    own: float | None = None


class Recomputed:
    """The runs of one model; their resamples are drawn once.

    A measure is SOLVED (in percent), COST or COST_WITHOUT summaries (in dollars), TURNS or THINKING.
    """

    def __init__(self, model: str, runs: Runs) -> None:
        self.model, self.runs = model, runs
        self.instances = sorted(set().union(*runs.values()))
        self.means = cache(lambda strategy, measure: resample_means([*self.values(strategy, measure).values()]))
        self.changes = cache(
            lambda strategy, measure, baseline: resample_means(self.pairs(strategy, measure, baseline))
        )

    def values(self, strategy: str, measure: str) -> dict[str, float]:
        """The values of a measure, by instance."""
        run = self.runs[strategy]
        if measure == SOLVED:
            return {name: 100.0 * (name in run and run[name].solved) for name in self.instances}
        return {name: getattr(outcome, FIELDS[measure]) for name, outcome in run.items()}

    def mean(self, strategy: str, measure: str) -> float:
        """The solve rate, the mean cost, or the mean number of turns."""
        return float(np.mean([*self.values(strategy, measure).values()]))

    def pairs(self, strategy: str, measure: str, baseline: str = RAW) -> list[float]:
        """The differences from the baseline on the instances that both have."""
        of, base = (self.values(name, measure) for name in (strategy, baseline))
        return [of[name] - base[name] for name in self.instances if name in of and name in base]

    def compared(self, strategy: str, measure: str, baseline: str = RAW) -> Comparison:
        """The paired comparison of a strategy with the baseline."""
        means = self.changes(strategy, measure, baseline)
        difference = float(np.mean(self.pairs(strategy, measure, baseline)))
        return Comparison(difference, *percentile_interval(means), two_sided(means))

    def published(self, n: int, what: str, value: float, printed: str) -> str:
        """A remark on the number of published instances, and the mean of the others if the printed value is right."""
        if n == len(self.instances):
            return f"all {n} {what} are published, so print had other values"
        rest = (len(self.instances) * float(printed) - n * value) / (len(self.instances) - n)
        return f"{n} of {len(self.instances)} {what} are published; print holds if the others have {rest:z.2f} $ each"


def absolute(of: Recomputed, strategy: str, measure: str, printed: str, raw: str) -> Iterator[Figure]:
    """The figures in a cell of a rate or a cost, as far as printed: mean, interval, change against Raw Agent.

    `raw` is the printed cell of Raw Agent.
    """
    numbers, mean, n = NUMBER.findall(printed), of.mean(strategy, measure), len(of.values(strategy, measure))
    whole = f"{numbers[0]} % of {n} instances is {float(numbers[0]) * n / 100:.1f} instances"
    reason = whole if measure == SOLVED else of.published(n, "rows", mean, numbers[0])
    yield Figure(mean, mean, mean, reason)
    low, high = (quantile(of.means(strategy, measure), tail) for tail in TAILS)
    if "±" in printed:
        yield Figure((high.value - low.value) / 2, (high.low - low.high) / 2, (high.high - low.low) / 2, reason)
    elif len(numbers) > 2:
        for end in (high, low):
            yield Figure(end.value - mean, end.low - mean, end.high - mean, reason)
    if "%" in printed:
        yield change(mean, of.mean(RAW, measure), numbers[-1], numbers[0], NUMBER.findall(raw)[0])


def difference(of: Recomputed, strategy: str, measure: str, printed: str) -> Iterator[Figure]:
    """The figures in a cell of Table 4: mean difference, its interval, p."""
    found, n = of.compared(strategy, measure), len(of.pairs(strategy, measure))
    reason = of.published(n, "pairs", found.difference, NUMBER.findall(printed)[0])
    yield Figure(found.difference, found.difference, found.difference, reason)
    for tail in TAILS:
        end = quantile(of.changes(strategy, measure, RAW), tail)
        yield Figure(end.value, end.low, end.high, reason)
    yield probability(found.p, reason)


def summary_cost(of: Recomputed, printed: str) -> Figure:
    """The first cell of a row in Table 2, in dollars."""
    run = of.runs[SUMMARY]
    mean = float(np.mean([outcome.summaries for outcome in run.values()]))
    return Figure(mean, mean, mean, of.published(len(run), "rows", mean, printed))


def summary_share(of: Recomputed, printed: str, dollars: str, costs: Mapping[str, str]) -> Figure:
    """The second cell, in percent. `costs` are the printed cells of Table 1, by strategy."""
    spent, cost = (sum(getattr(one, name) for one in of.runs[SUMMARY].values()) for name in ("summaries", "cost"))
    shares = {name: (whole := NUMBER.findall(costs[name])[0], 100 * float(dollars) / float(whole)) for name in costs}
    whole, own = shares[SUMMARY]
    reason = f"{dollars} of {whole}, as printed, is {own:.2f} %"
    other, wrong = shares[MASKING]
    if not rounds(own, printed) and rounds(wrong, printed):
        reason += f"; {printed} % is its share of {other}, the cost of {MASKING}"
    value = 100 * spent / cost
    return Figure(value, value, value, reason, own)


def change(value: float, base: float, printed: str, printed_value: str, printed_base: str) -> Figure:
    """A change against another strategy in percent; the two values behind it need not be printed."""
    exact, own = 100 * (value / base - 1), None
    reason = f"{value:.1f} against {base:.1f} is {exact:+z.1f} %"
    if printed_value and printed_base:
        own = 100 * (float(printed_value) / float(printed_base) - 1)
        reason = f"{printed_value} against {printed_base}, as printed, is {own:+z.1f} %"
    if not rounds(exact, printed) and rounds(100 * (value - base) / max(value, base), printed):
        reason += f"; {printed} % is the difference in percent of the larger of the two"
    return Figure(exact, exact, exact, reason, own)


def quantile(means: Floats, tail: float) -> Figure:
    """A quantile of resampled means, and its range if it and the printed one are both random draws."""
    error = ERRORS * math.sqrt(2 * tail * (1 - tail) / RESAMPLES)
    low, value, high = np.quantile(means, [tail - error, tail, tail + error])
    return Figure(float(value), float(low), float(high))


def probability(p: float, reason: str = "") -> Figure:
    """A two-sided p, and its range if it and the printed one are both random draws."""
    share = max(p / 2, 1 / RESAMPLES)
    error = ERRORS * 2 * math.sqrt(2 * share * (1 - share) / RESAMPLES)
    return Figure(p, max(0.0, p - error), min(1.0, p + error), reason)


def rounds(value: float, printed: str) -> bool:
    """Whether the value rounds to the printed number; a tie may be rounded up or down."""
    return abs(value - float(printed)) <= half_unit(printed) * (1 + 1e-9)
