"""The counts of turns: the paper's where the budget is as large as its runs, and live in the budget of a session."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import budget, calls_of, react
from tests.support.specs import Summariser, build
from thimble.agent.budget import LEAST_BUDGET, MOST_BUDGET, UNLIMITED
from thimble.agent.errors import UsageError
from thimble.session.settings import Settings, resolve
from thimble.strategies.paper import N_HYBRID, M, N, scaled

BUDGETS = st.integers(LEAST_BUDGET, MOST_BUDGET) | st.integers(LEAST_BUDGET, 40_000) | st.just(UNLIMITED)
PAPERS = st.sampled_from([M, N, N_HYBRID])


@given(BUDGETS, BUDGETS, PAPERS)
def test_a_count_grows_with_the_budget_up_to_the_paper_s(small: int, large: int, papers: int) -> None:
    small, large = sorted((small, large))
    counts = [scaled(None, papers, budget(limit)) for limit in (small, large)]
    assert 1 <= counts[0] <= counts[1] <= papers
    assert large < 31_000 or counts[1] == papers


@given(BUDGETS, PAPERS, st.integers(0, 100))
def test_a_count_that_is_set_is_not_scaled(limit: int, papers: int, given_count: int) -> None:
    assert scaled(given_count, papers, budget(limit)) == given_count


@given(st.integers(2_000, 31_000))
def test_a_summary_comes_after_as_many_turns_as_the_budget_has_thousands_of_tokens(limit: int) -> None:
    assert abs(scaled(None, N, budget(limit)) + scaled(None, M, budget(limit)) - limit / 1_000) <= 1


def test_an_exchange_may_be_as_long_as_a_run_of_the_paper(tmp_path: Path) -> None:
    taken = resolve({"max_turns": 250}, environ={}, folder=tmp_path)
    assert taken.max_turns == 250
    with pytest.raises(UsageError):
        resolve({"max_turns": 251}, environ={}, folder=tmp_path)


@pytest.mark.parametrize("limit", [2_000, 4_000, 8_000, 12_000])
@pytest.mark.parametrize(("name", "exchanges"), [("llm-summary", 1), ("critic-summary", 1), ("hybrid", 2)])
def test_in_a_session_each_of_them_summarises(name: str, exchanges: int, limit: int) -> None:
    """An exchange has twelve turns at most: the paper's 31 and 53 would never come."""
    backend = Summariser()
    strategy = build(name, backend)
    for messages in calls_of(react(exchanges * Settings().max_turns, 500)):
        strategy.prepare(messages, budget(limit))
    assert backend.prompts
