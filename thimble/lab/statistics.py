"""Statistics of paired outcomes: bootstrap, Wilson's interval, Holm's correction; all deterministic.

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
"""The maximum draws in memory."""
SUM_ROUNDING = 1e-12
"""A mean below this share of the largest value counts as zero: in floating point 0.1 + 0.2 − 0.3 is not."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Comparison:
    """The mean difference, its 95 % interval, and the two-sided p of no difference."""

    difference: float
    low: float
    high: float
    p: float


def compare_paired(a: ArrayLike, b: ArrayLike, *, resamples: int = RESAMPLES) -> Comparison:
    """Compare a with b, instance by instance: Δ = mean(a − b).

    The order of the instances does not matter. Swapping a and b only changes the sign; if Δ is 0, up to sampling error.

    Raises:
        ValueError: there are no instances, or a and b differ in length.
    """
    first, second = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    if first.shape != second.shape:
        raise ValueError(f"{first.size} and {second.size} values are not pairs")
    means = resample_means(first - second, resamples=resamples)
    return Comparison(float((first - second).mean()), *percentile_interval(means), two_sided(means))


def resample_means(values: ArrayLike, *, resamples: int = RESAMPLES) -> Floats:
    """The means of the resamples (of the same size, drawn with replacement), in ascending order.

    The order of the values does not matter.

    Raises:
        ValueError: there are no values.
    """
    ordered = np.sort(np.asarray(values, dtype=float))
    if not ordered.size:
        raise ValueError("there is nothing to resample")
    if math.fsum(ordered) < 0:
        return -resample_means(-ordered, resamples=resamples)[::-1]
    draw = np.random.default_rng(0)
    rows = max(1, DRAWS_AT_ONCE // ordered.size)
    sizes = [min(rows, resamples - done) for done in range(0, resamples, rows)]
    means = np.concatenate([ordered[draw.integers(ordered.size, size=(n, ordered.size))].mean(axis=1) for n in sizes])
    means[np.abs(means) <= SUM_ROUNDING * np.abs(ordered).max()] = 0
    return np.sort(means)


def least_shares(rows: ArrayLike) -> list[float]:
    """The share of resamples of the columns in which each row has the smallest mean, ties included: from 0 to 1.

    Raises:
        ValueError: there are no rows or no columns.
    """
    values = np.atleast_2d(np.asarray(rows, dtype=float))
    if not values.size:
        raise ValueError("there is nothing to resample")
    n = values.shape[1]
    draw, step = np.random.default_rng(0), max(1, DRAWS_AT_ONCE // n)
    first = np.zeros(len(values))
    for done in range(0, RESAMPLES, step):
        counts = draw.multinomial(n, np.full(n, 1 / n), min(step, RESAMPLES - done))
        sums = counts @ values.T
        first += (sums <= sums.min(axis=1, keepdims=True) + n * SUM_ROUNDING * np.abs(values).max()).sum(axis=0)
    return [float(share) for share in first / RESAMPLES]


def percentile_interval(means: Floats) -> tuple[float, float]:
    """The 95 % percentile interval of resampled means."""
    low, high = np.quantile(means, TAILS)
    return float(low), float(high)


def two_sided(means: Floats) -> float:
    """The two-sided p of resampled differences: 0 if none crosses zero, which means p < 2 / resamples."""
    return min(1.0, 2 * float(min(np.mean(means >= 0), np.mean(means <= 0))))


def wilson_interval(successes: int, n: int) -> tuple[float, float]:
    """The 95 % interval of a share (Wilson, Probable Inference, 1927); 0 to 1 for n = 0."""
    if not n:
        return 0.0, 1.0
    z = 1.96
    share, spread = successes / n, z * z / n
    middle = (share + spread / 2) / (1 + spread)
    half = z / (1 + spread) * math.sqrt(share * (1 - share) / n + spread / (4 * n))
    return max(0.0, middle - half), min(1.0, middle + half)


def holm(ps: Sequence[float]) -> list[float]:
    """The p values in the same order, corrected for their number (Holm, A Simple Sequentially Rejective Test, 1979).

    A p of 0 only means less than 2 / RESAMPLES, and counts as that.
    """
    order = sorted(range(len(ps)), key=ps.__getitem__)
    corrected, highest = [0.0] * len(ps), 0.0
    for rank, at in enumerate(order):
        highest = max(highest, min(1.0, (len(ps) - rank) * max(ps[at], 2 / RESAMPLES)))
        corrected[at] = highest
    return corrected
