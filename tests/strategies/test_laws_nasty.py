"""Law 8, that nothing is too nasty for a strategy, on SPECs at their limits."""

from __future__ import annotations

from functools import partial

import pytest

from tests.support.family import family
from tests.support.specs import SOME, build
from thimble.strategies.laws import laws

some_specs = pytest.mark.parametrize("spec", SOME)
BY_DAY = (
    "none",
    "observation-masking",
    "summary-buffer",
    "thrifty",
    "comem",
    "retrieval",
    "tidy+observation-masking+dedup",
)
LONG = family([spec for spec in SOME if ":" not in spec], *BY_DAY)


@some_specs
def test_law_8_nothing_is_too_nasty(spec: str) -> None:
    laws.law_8_nothing_is_too_nasty(partial(build, spec))


@pytest.mark.parametrize("spec", LONG)
def test_law_8_four_thousand_messages(spec: str) -> None:
    laws.law_8_four_thousand_messages(partial(build, spec))


@some_specs
def test_law_8_an_overhead_above_the_budget_is_a_budget_error(spec: str) -> None:
    laws.law_8_an_overhead_above_the_budget_is_a_budget_error(partial(build, spec))


@some_specs
def test_law_8_a_budget_that_shrinks_in_mid_session_is_kept(spec: str) -> None:
    laws.law_8_a_budget_that_shrinks_in_mid_session_is_kept(partial(build, spec))


@some_specs
def test_a_fresh_strategy_sees_the_whole_history(spec: str) -> None:
    laws.a_fresh_strategy_sees_the_whole_history(partial(build, spec))
