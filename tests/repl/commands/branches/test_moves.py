"""/fork, /undo and /retry: what they say, what they leave, and what is wrong with them in two lines."""

from __future__ import annotations

import json

import pytest

from tests.support.branched_sessions import run, sent, session_in, stands
from thimble.agent.errors import BudgetError
from thimble.repl.cli import headless
from thimble.repl.commands.branches.tree import make_accounts
from thimble.session.session import Session

LONG = "Why? " * 500
"""2,500 characters, 625 tokens."""


def talked(exchanges: int = 2) -> Session:
    session = session_in(budget=4000)
    for number in range(1, exchanges + 1):
        run(session, f"Question {number}?")
    return session


def asked(session: Session) -> list[str]:
    return [message.content for message in session.agent.history if message.role == "user"]


def test_a_refused_question_is_no_exchange_to_undo_and_can_be_asked_again() -> None:
    session = talked(1)
    run(session, "/budget 500")
    with pytest.raises(BudgetError):
        run(session, LONG)
    run(session, "/budget 4000")
    was = stands(session)
    run(session, "/retry")
    assert asked(session) == ["Question 1?", LONG]
    run(session, "/tree 1")
    assert stands(session) == was
    text = run(session, "/undo")
    assert text.startswith("Undone: “Question 1?”\nUndone: “Why")
    assert "… ” (which the budget refused)" in text.replace("…”", "… ”")
    assert asked(session) == []


def test_a_question_is_asked_again_with_the_strategy_budget_and_model_of_now() -> None:
    session = talked(2)
    first = sent(session)[2][-1]
    run(session, "/retry")
    assert asked(session) == ["Question 1?", "Question 2?"]
    run(session, "/strategy none")
    run(session, "/budget 5000")
    run(session, "/retry")
    assert (session.spec, session.agent.limit) == ("none", 5000)
    run(session, "/retry truncate")
    run(session, "/retry sliding-window")
    assert first in sent(session)[-2]
    branches = session.journal.tree.branches.values()
    assert {branch.parent for branch in branches} == {0, 1}  # side by side


@pytest.mark.parametrize("as_json", [False, True])
def test_without_a_conversation_a_retry_is_answered_as_any_question(
    as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    session = session_in(budget=4000)
    assert headless.answer(session, iter(["Question 1?", "/retry none", "/tree 1"]), as_json) == headless.DONE
    out = capsys.readouterr().out
    if as_json:
        events = [json.loads(line) for line in out.splitlines()]
        assert [event["text"] for event in events if event["type"] == "asked"] == ["Question 1?"] * 2
        assert [event["type"] for event in events].count("answered") == 2
        assert events[-1]["exchanges"] == 1  # of the branch in use
    else:
        assert out.count("That is it, of 5 messages.") == 2


def grown() -> Session:
    """Three exchanges, a fork behind the first, and one that grew from that."""
    session = session_in(budget=4000)
    for number in (1, 2, 3):
        run(session, f"Question {number}?")
    run(session, "/fork 1 none")
    run(session, "Another?")
    run(session, "/fork 2 truncate")
    run(session, "/tree 1")
    run(session, "/fork 0")
    run(session, "/tree 2")
    return session


def test_what_is_shared_is_counted_once() -> None:
    session = grown()
    found = {one.number: one for one in make_accounts(session.journal.tree)}
    assert [(one.parent, one.behind) for one in found.values()] == [(0, 0), (1, 1), (2, 2), (1, 0)]
    assert [one.question for one in found.values()] == ["Question 3?", "Another?", "", ""]
    ledger = session.agent.ledger
    shared = found[1].calls[: len(ledger.calls) - len(found[2].calls)]
    assert [*shared, *found[2].calls] == ledger.calls


def test_a_short_name_is_that_of_the_strategy() -> None:
    session = session_in()
    run(session, "What is masking?")
    run(session, "/fork window")
    assert session.spec == "sliding-window"
    run(session, "/retry masking")
    assert session.spec == "observation-masking"
