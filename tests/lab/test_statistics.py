"""The statistics against every resample that there is, and against what is published."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.lab.statistics import (
    DRAWS_AT_ONCE,
    Comparison,
    compare_paired,
    holm,
    percentile_interval,
    resample_means,
    two_sided,
    wilson_interval,
)

FEW = 1_000
"""Resamples of a test."""
ERRORS = 6
"""Standard errors that a drawn share may be off."""

tenths = st.lists(st.integers(-30, 30), min_size=1, max_size=4)
costs = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=30)
shares = st.lists(st.floats(0, 1), max_size=12)


def every_mean(values: Sequence[Fraction]) -> list[Fraction]:
    """The mean of each of the n^n resamples."""
    return [sum(drawn, Fraction()) / len(values) for drawn in product(values, repeat=len(values))]


def share(of: Sequence[bool]) -> float:
    return sum(of) / len(of)


def error(share: float) -> float:
    return ERRORS * math.sqrt(share * (1 - share) / FEW) + 1e-9


def pair(pairs: Sequence[tuple[float, float]], **how: int) -> Comparison:
    return compare_paired([a for a, _ in pairs], [b for _, b in pairs], **{"resamples": FEW} | how)


# --- paired bootstrap -------------------------------------------------------------------------------------------------


@given(tenths)
def test_p_is_that_of_all_resamples(values: list[int]) -> None:
    """In decimals, whose sums are zero only up to rounding."""
    means = every_mean([Fraction(value, 10) for value in values])
    tail = min(share([mean >= 0 for mean in means]), share([mean <= 0 for mean in means]))
    found = compare_paired([value / 10 for value in values], [0] * len(values), resamples=FEW)
    assert found.p == pytest.approx(min(1, 2 * tail), abs=2 * error(tail))


@given(tenths)
def test_the_interval_holds_95_percent_of_all_resamples(values: list[int]) -> None:
    means = [float(mean) for mean in every_mean([Fraction(value) for value in values])]
    low, high = percentile_interval(resample_means(values, resamples=FEW))
    for end, tail in ((low, 0.025), (high, 0.975)):
        assert share([mean < end - 1e-9 for mean in means]) <= tail + error(tail)
        assert share([mean <= end + 1e-9 for mean in means]) >= tail - error(tail)


@given(costs, st.randoms(use_true_random=False))
def test_the_order_of_instances_does_not_matter(pairs: list[tuple[int, int]], lot: Random) -> None:
    assert pair(lot.sample(pairs, len(pairs))) == pair(pairs)


@given(costs)
def test_the_other_way_round_is_the_same_with_the_other_sign(pairs: list[tuple[int, int]]) -> None:
    there, back = pair(pairs), pair([(b, a) for a, b in pairs])
    assert back.difference == -there.difference
    if there.difference:
        assert (back.low, back.high, back.p) == pytest.approx((-there.high, -there.low, there.p))
    else:
        assert back.p == pytest.approx(there.p, abs=2 * math.sqrt(2) * error(0.5))


def test_no_crossing_is_a_p_of_zero() -> None:
    assert compare_paired([1, 2, 3], [0, 0, 0]).p == 0
    assert compare_paired([1, 2], [1, 2]) == Comparison(0, 0, 0, 1)
    assert two_sided(resample_means([0.1, 0.2, -0.3])) > 0.9


def test_the_interval_covers_the_truth_as_often_as_it_says() -> None:
    lot = np.random.default_rng(7)
    found = [
        compare_paired(0.3 + lot.exponential(size=60), lot.exponential(size=60), resamples=600) for _ in range(300)
    ]
    assert 0.91 <= share([one.low <= 0.3 <= one.high for one in found]) <= 0.98


def test_more_instances_than_are_drawn_at_once() -> None:
    means = resample_means(np.arange(DRAWS_AT_ONCE + 1), resamples=3)
    assert means.shape == (3,)
    assert means == pytest.approx(DRAWS_AT_ONCE / 2, rel=0.02)


def test_what_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="nothing to resample"):
        compare_paired([], [])
    with pytest.raises(ValueError, match="1 and 2 values are not pairs"):
        compare_paired([1], [1, 2])


# --- Wilson, Holm -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("right", "of", "low", "high"), [(18, 20, 0.699, 0.972), (180, 200, 0.851, 0.934)])
def test_wilson_intervals_as_published(right: int, of: int, low: float, high: float) -> None:
    assert wilson_interval(right, of) == pytest.approx((low, high), abs=0.001)
    assert wilson_interval(0, 0) == (0, 1)
    assert (wilson_interval(0, of)[0], wilson_interval(of, of)[1]) == pytest.approx((0, 1))


@given(st.integers(1, 99), st.integers(1, 99))
def test_at_each_end_the_share_is_just_significant(right: int, wrong: int) -> None:
    n = right + wrong
    for end in wilson_interval(right, n):
        assert abs(right / n - end) == pytest.approx(1.96 * math.sqrt(end * (1 - end) / n))


@given(shares)
def test_holm_is_its_definition(ps: list[float]) -> None:
    """Each p times the number of those that are not smaller; never below one that comes before it. 0 is 0.0002."""
    for p, corrected in zip(known := [max(p, 0.0002) for p in ps], holm(ps), strict=True):
        steps = [min(1, other * sum(one >= other for one in known)) for other in known if other <= p]
        assert corrected == pytest.approx(max(steps))
