"""The counts of turns: the paper's where the budget is as large as its runs, and live in the budget of a session."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import budget, calls_of, react_history
from tests.support.sessions import scripted
from tests.support.specs import Summariser, build
from thimble.agent.budget import LEAST_BUDGET, MOST_BUDGET, UNLIMITED
from thimble.session.settings import Settings
from thimble.strategies.paper import N_HYBRID, M, N, scale_turns
from thimble.strategies.paper_names import use_our_names

BUDGETS = st.integers(LEAST_BUDGET, MOST_BUDGET) | st.integers(LEAST_BUDGET, 40_000) | st.just(UNLIMITED)
PAPERS = st.sampled_from([M, N, N_HYBRID])


@given(BUDGETS, BUDGETS, PAPERS)
def test_a_count_grows_with_the_budget_up_to_the_paper_s(small: int, large: int, papers: int) -> None:
    small, large = sorted((small, large))
    counts = [scale_turns(None, papers, budget(limit)) for limit in (small, large)]
    assert 1 <= counts[0] <= counts[1] <= papers
    assert large < 31_000 or counts[1] == papers


@given(BUDGETS, PAPERS, st.integers(0, 100))
def test_a_count_that_is_set_is_not_scaled(limit: int, papers: int, given_count: int) -> None:
    assert scale_turns(given_count, papers, budget(limit)) == given_count


@given(st.integers(2_000, 31_000))
def test_a_summary_comes_after_as_many_turns_as_the_budget_has_thousands_of_tokens(limit: int) -> None:
    assert abs(scale_turns(None, N, budget(limit)) + scale_turns(None, M, budget(limit)) - limit / 1_000) <= 1


@pytest.mark.parametrize("limit", [2_000, 4_000, 8_000, 12_000])
@pytest.mark.parametrize(("name", "exchanges"), [("llm-summary", 1), ("critic-summary", 1), ("hybrid", 2)])
def test_in_a_session_each_of_them_summarises(name: str, exchanges: int, limit: int) -> None:
    """An exchange has twelve turns at most: the paper's 31 and 53 would never come."""
    backend = Summariser()
    strategy = build(name, backend)
    for messages in calls_of(react_history(exchanges * Settings().max_turns, 500)):
        strategy.prepare(messages, budget(limit))
    assert backend.prompts


@pytest.mark.parametrize(
    ("typed", "ours"),
    [
        ("masking", "observation-masking"),
        ("Observation Masking:paper", "observation-masking:paper"),
        ("LLM-Summary", "llm-summary"),
        ("Raw agent", "none"),
        ("tidy+masking:window=3+CoMem", "tidy+observation-masking:window=3+comem"),
    ],
)
def test_the_names_of_the_papers_are_ours(typed: str, ours: str) -> None:
    assert use_our_names(typed) == ours
    session = scripted(strategy=typed)
    assert session.spec == ours
    session.use_strategy("none")
    session.use_strategy(typed)
    assert session.spec == ours


@given(st.text(max_size=30))
def test_other_names_stay_as_they_are_typed(text: str) -> None:
    file = f"./{text.replace('+', '')}.py"
    assert use_our_names(file) == file
