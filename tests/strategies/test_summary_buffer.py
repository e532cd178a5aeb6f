"""summary-buffer: over the budget the old part becomes a summary, and the newest turns stay word for word."""

from __future__ import annotations

import pytest

from tests.support.histories import budget, react_history
from tests.support.specs import Summariser, build, named_summary
from thimble.agent.messages import Message, turns
from thimble.agent.prompts import SUMMARY_TAG
from thimble.session.session import Session
from thimble.session.settings import Settings


def summaries(view: list[Message]) -> list[Message]:
    return [message for message in view if message.covers]


def test_over_the_budget_all_but_the_newest_turns_become_one_summary() -> None:
    backend = Summariser(lambda messages: f"what was found: {named_summary(messages)}")
    history = react_history(14)
    view = build("summary-buffer:target=0", backend).prepare(history, budget())
    (summary,) = summaries(view)
    assert view == [*history[:2], summary, *history[-4:]]
    assert (summary.role, summary.content) == (
        "user",
        f"{SUMMARY_TAG}\nwhat was found: {named_summary(backend.prompts[-1])}",
    )
    assert summary.covers == tuple(message.id for message in history[2:-4])
    assert summary.why.startswith("stands for 24 messages: the view was ")


def test_the_target_is_what_the_newest_turns_may_keep() -> None:
    view = build("summary-buffer:target=0.35").prepare(react_history(14), budget())
    kept = turns(view)
    assert len(kept) == 4
    assert sum(budget().count(message) for message in view[kept[0].start :]) <= 0.35 * 8_000 < 5 * 650


@pytest.mark.parametrize("spec", ["summary-buffer", "comem", "llm-summary"])
def test_in_a_small_budget_the_tools_stay_out_so_that_the_summariser_has_room_to_read(spec: str) -> None:
    """With the tools, 127 of the 2,000 tokens were left for reading, and nearly every request was given up."""
    session = Session(Settings(backend="reader", budget=2_000, strategy=spec))
    for topic in ("context rot", "observation masking", "a sliding window", "tool use"):
        list(session.ask(f"What is {topic}?"))
    ledger = session.agent.ledger
    sides = [call for call in ledger.calls if call.purpose != "answer"]
    assert len(sides) > 2
    assert all((call.prompt.tokens or 0) <= 2_000 for call in sides)
    assert ledger.view is not None
    assert "summarised" in ledger.view.fates
