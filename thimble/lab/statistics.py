"""Statistics of outcomes of the same instances: paired bootstrap, Wilson's interval, Holm's correction; all repeatable.

The bootstrap is that of The Complexity Trap (Lindenbauer et al., 2025, section C.1): 10,000 resamples of the instances,
percentile intervals, and p = 2 · min(Pr(Δ* ≥ 0), Pr(Δ* ≤ 0)), at most 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 10_000
TAILS = (0.025, 0.975)
"""The quantiles that bound a 95 % interval."""
DRAWS_AT_ONCE = 100_000
"""Draws that are held at once."""
SUM_ROUNDING = 1e-12
"""A mean this small beside the largest value is zero: 0.1 + 0.2 − 0.3 is not quite zero in a computer."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The mean of the differences, its 95 % interval, and the two-sided p of no difference."""

    difference: float
    low: float
    high: float
    p: float


def paired(a: ArrayLike, b: ArrayLike, *, seed: int = 0, resamples: int = RESAMPLES) -> Comparison:
    """Compare a with b, instance by instance: Δ = mean(a − b).

    The order of the instances does not matter. Comparing b with a gives the same with the other sign; where Δ is 0, up
    to the error of drawing.

    Raises:
        ValueError: there is no instance, or one of them has only one value.
    """
    first, second = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if first.shape != second.shape:
        raise ValueError(f"{first.size} and {second.size} values are no pairs")
    means = resampled(first - second, seed=seed, resamples=resamples)
    return Comparison(float((first - second).mean()), *interval(means), two_sided(means))


def resampled(values: ArrayLike, *, seed: int = 0, resamples: int = RESAMPLES) -> Floats:
    """The means of resamples (as many values, drawn with replacement), in ascending order.

    The order of the values does not matter.

    Raises:
        ValueError: there is no value.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    if not ordered.size:
        raise ValueError("there is nothing to resample")
    if math.fsum(ordered) < 0:
        return -resampled(-ordered, seed=seed, resamples=resamples)[::-1]
    draw = np.random.default_rng(seed)
    rows = max(1, DRAWS_AT_ONCE // ordered.size)
    sizes = [min(rows, resamples - done) for done in range(0, resamples, rows)]
    means = np.concatenate([ordered[draw.integers(ordered.size, size=(n, ordered.size))].mean(axis=1) for n in sizes])
    means[np.abs(means) <= SUM_ROUNDING * np.abs(ordered).max()] = 0
    return np.sort(means)


def least(rows: ArrayLike, *, seed: int = 0, resamples: int = RESAMPLES) -> list[float]:
    """How often each row has the least mean, alone or not, in resamples of the columns: shares from 0 to 1.

    Raises:
        ValueError: there is no row, or no column.
    """
    values = np.atleast_2d(np.asarray(rows, dtype=float))
    if not values.size:
        raise ValueError("there is nothing to resample")
    n = values.shape[1]
    draw, step = np.random.default_rng(seed), max(1, DRAWS_AT_ONCE // n)
    first = np.zeros(len(values))
    for done in range(0, resamples, step):
        counts = draw.multinomial(n, np.full(n, 1 / n), min(step, resamples - done))
        sums = counts @ values.T
        first += (sums <= sums.min(axis=1, keepdims=True) + n * SUM_ROUNDING * np.abs(values).max()).sum(axis=0)
    return [float(share) for share in first / resamples]


def interval(means: Floats) -> tuple[float, float]:
    """The 95 % percentile interval of resampled means."""
    low, high = np.quantile(means, TAILS)
    return float(low), float(high)


def two_sided(means: Floats) -> float:
    """The two-sided p of resampled differences: 0 if none crosses zero, which says p < 2 / resamples."""
    return min(1.0, 2 * float(min(np.mean(means >= 0), np.mean(means <= 0))))


def wilson(successes: int, n: int, z: float = 1.96) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson, Probable Inference, 1927); 0 to 1 for n = 0."""
    if not n:
        return 0.0, 1.0
    share, spread = successes / n, z * z / n
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(share * (1 - share) / n + spread / (4 * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def holm(ps: Sequence[float]) -> list[float]:
    """The p values, corrected for their number (Holm, A Simple Sequentially Rejective Test, 1979); same order.

    A p of 0 only says that it is less than 2 / RESAMPLES, and counts as that.
    """
    order = sorted(range(len(ps)), key=ps.__getitem__)
    corrected, highest = [0.0] * len(ps), 0.0
    for rank, at in enumerate(order):
        highest = max(highest, min(1.0, (len(ps) - rank) * max(ps[at], 2 / RESAMPLES)))
        corrected[at] = highest
    return corrected
