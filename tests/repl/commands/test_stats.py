from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.sessions import Paper, answer_call, ask, scripted, tool_call
from thimble.agent.budget import Prices
from thimble.agent.events import SideCalled
from thimble.agent.ledger import Amount, Call, Ledger
from thimble.agent.protocols import Usage
from thimble.repl.commands.stats import (
    by_purpose,
    tokens_by_kind,
    without_management,
)
from thimble.repl.commands.table import run_command
from thimble.session import figures
from thimble.session.session import Session
from thimble.session.totals import add_up, price_calls


def number(text: str) -> int:
    return int(text.strip("~%").replace(",", "") or 0)


def after_questions(questions: int = 2) -> Session:
    steps = [
        step
        for n in range(questions)
        for step in ([tool_call("read_article", n, slug="observation-masking", page=1)], "It hides old results.")
    ]
    session = scripted(*steps, strategy="observation-masking:when=always,window=0", budget=8_000)
    for n in range(questions):
        ask(session, f"What is observation masking, once more, for the {n}th time?")
    return session


def shown(session: Session, width: int = 80, drawn: bool = True, height: int = 100) -> Sequence[str]:
    paper = Paper(width, drawn, height=height)
    run_command(session, "/stats all", paper.console)
    return paper.lines


def test_the_sums_are_those_of_the_view() -> None:
    session = after_questions()
    view = session.agent.ledger.view
    assert view is not None
    budget = session.agent.budget(session.agent.schemas())
    *rows, together = tokens_by_kind(view, budget, True).rows
    assert number(together[1]) == view.history_tokens == sum(number(row[1]) for row in rows)
    assert number(together[2]) == view.tokens == sum(number(row[2]) for row in rows)
    for column, messages in ((1, view.history), (2, view.messages)):
        turns = [message for message in messages if message.role in ("assistant", "tool")]
        parts = [number(row[column]) for row in rows if row[0] in ("reasoning", "action", "observation")]
        assert sum(parts) == sum(map(budget.count, turns))


def test_under_none_all_prompts_are_those_of_the_whole_history_whatever_was_tried_before() -> None:
    session = scripted("So.", "So.", strategy="none")
    trial = SideCalled("trial of tool calls", 5_000, True, Usage(prompt_tokens=5_000, cached_tokens=0), 1.0)
    session.agent.ledger.add(trial)
    ask(session)
    ask(session)
    rows = without_management(session.agent.ledger).rows
    assert [row[1] for row in rows][::2] == [row[2].removeprefix("~") for row in rows][::2]
    assert [row[3] for row in rows][::2] == ["the same"] * 2


def test_a_sum_with_an_unknown_part_is_the_known_one_at_least() -> None:
    session = after_questions(1)
    sums = add_up(session.agent.ledger.calls)
    session.agent.ledger.calls.append(answer_call(1, 10))
    row = next(line for line in shown(session) if line.strip().startswith("session"))
    assert row.split()[-4:-1] == [f"≥{figures.format_amount(one)}" for one in (sums.cached, sums.prefill, sums.output)]
    assert by_purpose(session.agent.ledger, Prices()).rows[-1][5].startswith("≥")


PRICED = st.builds(Prices, st.floats(0, 1), st.floats(0, 100), st.floats(0.001, 100))
CALLS = st.lists(
    st.builds(
        answer_call,
        prompt=st.integers(1_000, 9_000),
        cached=st.builds(Amount, st.integers(0, 1_000), st.booleans()),
        output=st.builds(Amount, st.integers(0, 500)),
        purpose=st.sampled_from(["answer", "summary", "delegate"]),
    ),
    min_size=1,
    max_size=8,
)


@given(CALLS, PRICED)
def test_the_cost_of_each_purpose_adds_up_to_the_whole(calls: list[Call], card: Prices) -> None:
    ledger = Ledger(calls)
    *rows, together = by_purpose(ledger, card).rows
    whole = sum(price_calls(call, card) or 0 for call in calls)
    assert number(together[5]) == round(whole)
    assert abs(sum(number(row[5]) for row in rows) - whole) <= len(rows)
    assert float(together[7].strip("~")) == pytest.approx(whole * card.dollars / 1e6, abs=1e-4)
    assert sum(int(row[1]) for row in rows) == int(together[1]) == len(calls)


def test_it_fits_a_screen_of_24_rows_and_80_columns() -> None:
    session = after_questions(9)
    paper = Paper(80, height=24)
    run_command(session, "/tokens", paper.console)
    assert len(paper.lines) <= 22
    assert "total: calls" in paper.text
