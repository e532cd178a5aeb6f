"""summary-buffer: the old part becomes a summary that folds the one before; a bad summary changes nothing."""

from __future__ import annotations

from itertools import pairwise

import pytest

from agent.errors import BudgetError
from agent.messages import Message, turns
from agent.prompts import SUMMARY_TAG
from agent.view import prepare
from tests.histories import Story, budget, calls_of, is_faithful, react, react40
from tests.strategies.stage import SUMMARISERS, Summariser, build


def summaries(view: list[Message]) -> list[Message]:
    return [message for message in view if message.covers]


def test_over_the_budget_all_but_the_newest_turns_become_one_summary() -> None:
    backend = Summariser(lambda messages: "what was found")
    history = react(14)
    view = build("summary-buffer", backend).prepare(history, budget())
    (summary,) = summaries(view)
    assert view == [*history[:2], summary, *history[-4:]]
    assert (summary.role, summary.content) == ("user", f"{SUMMARY_TAG}\nwhat was found")
    assert summary.covers == tuple(message.id for message in history[2:-4])
    assert summary.why == "stands for 24 messages"


def test_within_the_budget_no_model_is_asked() -> None:
    backend = Summariser()
    assert build("summary-buffer", backend).prepare(react(11), budget()) == react(11)
    assert backend.prompts == []


def test_the_next_summary_folds_the_one_before() -> None:
    backend = Summariser(lambda messages: f"summary number {len(backend.prompts)}")
    strategy = build("summary-buffer", backend)
    for messages in calls_of(react40()):
        view = strategy.prepare(messages, budget())
    assert len(backend.prompts) > 1
    first, second = backend.prompts[:2]
    assert not any(SUMMARY_TAG in message.content for message in first)
    assert [message.content for message in second if message.covers] == [f"{SUMMARY_TAG}\nsummary number 1"]
    covered = {id_ for message in second for id_ in message.covers}
    assert not covered & {message.id for message in second}
    (summary,) = summaries(view)
    assert summary.content == f"{SUMMARY_TAG}\nsummary number {len(backend.prompts)}"
    assert covered < set(summary.covers)


def test_the_instruction_stands_last_and_the_prompt_is_within_the_budget() -> None:
    backend = Summariser()
    strategy = build("summary-buffer:words=100", backend)
    for messages in calls_of(react40()):
        strategy.prepare(messages, budget())
    for prompt, limit in zip(backend.prompts, backend.limits, strict=True):
        assert prompt[:2] == react40()[:2]
        assert (prompt[-1].role, limit) == ("user", 300)
        assert "at most 100 words" in prompt[-1].content
        assert not budget().over(prompt)


def test_the_summariser_reads_what_the_model_read() -> None:
    """So that the server's cache of the view before holds for the summary's prompt too."""
    backend = Summariser()
    strategy, views = build("summary-buffer", backend), []
    for messages in calls_of(react40()):
        asked = len(backend.prompts)
        views.append(strategy.prepare(messages, budget()))
        if len(backend.prompts) > asked:
            prompt = backend.prompts[-1][:-1]
            assert prompt == views[-2][: len(prompt)]


@pytest.mark.parametrize("answer", ["fails", "empty", "larger"])
def test_a_summary_that_is_none_is_tried_again_some_turns_later(answer: str) -> None:
    backend = Summariser(SUMMARISERS[answer])
    strategy = build("summary-buffer:buffer=3", backend)
    asked_at = []
    for messages in calls_of(react(40)):
        before = len(backend.prompts)
        assert strategy.prepare(messages, budget()) == messages
        if len(backend.prompts) > before:
            asked_at.append(len(turns(messages)))
    assert len(asked_at) > 3
    assert all(b - a == 3 for a, b in pairwise(asked_at))


def test_the_road_makes_it_fit_when_the_summary_failed() -> None:
    view = prepare(react40(), build("summary-buffer", Summariser(SUMMARISERS["fails"])), budget())
    assert view.tokens <= 8_000
    assert view.notes == ()
    assert "summarised" not in view.fates


def test_the_question_stays_behind_a_summary_that_stands_after_it() -> None:
    """A task that was cancelled, then the question: the summary is the newest message of a user, and no question."""
    story = Story().ask("the task").ask("the question")
    for _ in range(30):
        story.turn(60, says=200)
    view = prepare(story.messages, build("summary-buffer:buffer=6"), budget(1_000))
    assert is_faithful(view.messages, story.messages) == []


def test_a_small_budget_is_no_reason_to_give_up() -> None:
    """The instruction counts too; where it leaves no room to ask, there is no summary, and fit does its work."""
    history = react(6)
    view = prepare(history, build("summary-buffer"), budget(250))
    assert view.tokens <= 250


def test_a_budget_that_cannot_be_kept_is_still_an_error() -> None:
    with pytest.raises(BudgetError):
        prepare(Story().ask("word " * 400).turn(9).turn(9).turn(9).messages, build("summary-buffer"), budget(250))


def test_messages_that_left_the_history_leave_the_summary_unused() -> None:
    strategy = build("summary-buffer")
    strategy.prepare(react(14), budget())
    other = Story().ask("another").answer("!").messages
    renamed = [Message(f"other-{message.id}", message.role, message.content) for message in other]
    assert strategy.prepare(renamed, budget()) == renamed
