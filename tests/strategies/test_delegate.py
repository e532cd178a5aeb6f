"""delegate: a bulky old result is read once by a fresh context, and what comes back stands for it."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.support.histories import Story, TinyCounter, budget, calls_of, react40, react_history
from tests.support.specs import SUMMARISERS, Summariser, build
from thimble.agent.messages import Message
from thimble.agent.side import SideModel
from thimble.agent.view import prepare
from thimble.models.reader import Reader
from thimble.strategies.delegate import BRIEF_HEAD, MAX_BRIEFS, PATIENCE_TURNS
from thimble.strategies.spec import make_strategy

BRIEF = "what it says [s1]"


def briefs(view: list[Message]) -> list[Message]:
    return [message for message in view if message.covers]


def uneven() -> list[Message]:
    """Small results, and among the old ones two bulky ones: 2,000 tokens, then 4,000."""
    story = Story().ask("Which of them?")
    for tokens in (90, 2_000, 90, 4_000, 90, 900, 900):
        story.turn(tokens, says=40)
    return story.messages


def test_the_bulkiest_old_results_become_briefs_until_the_target_is_reached() -> None:
    backend = Summariser(lambda messages: BRIEF)
    history = uneven()
    view = prepare(history, build("delegate:target=0.6", backend), budget())
    at = next(index for index, message in enumerate(history) if len(message.content) > 12_000)
    assert [index for index, fate in enumerate(view.fates) if fate != "kept"] == [at]
    assert view.fates[at] == "summarised"
    head = BRIEF_HEAD.format(name="read_article", letters=len(history[at].content))
    assert view.messages[at].content == f"{head}\n{BRIEF}"
    assert (view.messages[at].id, view.messages[at].covers) == (history[at].id, (history[at].id,))
    deeper = prepare(history, build("delegate", backend), budget())
    assert deeper.fates.count("summarised") == 2
    assert len(backend.prompts) == 3


def test_a_fresh_context_gets_the_question_and_one_result_and_nothing_else() -> None:
    backend = Summariser(lambda messages: BRIEF)
    history = Story().ask("the task").turn(3_000).answer("yes").ask("the question").turn(90, 4_500).turn(900).turn(900)
    build("delegate:words=50", backend).prepare(history.messages, budget())
    question, caller, result, instruction = backend.prompts[0]
    assert question.content == "the question"
    assert (caller.content, [call.id for call in caller.calls]) == ("", [result.call_id])
    assert result in history.messages
    assert len(result.content) > 12_000
    assert "at most 50 words" in instruction.content
    assert backend.limits[0] == 150


def test_a_result_that_is_larger_than_the_budget_is_handed_over_as_far_as_it_fits() -> None:
    backend = Summariser(lambda messages: BRIEF)
    history = Story().ask("the question").turn(60_000).turn(90).turn(90).messages
    view = prepare(history, build("delegate", backend), budget())
    assert "summarised" in view.fates
    assert not budget().over(backend.prompts[0])
    assert backend.prompts[0][0].content == "the question"


def test_one_view_asks_only_so_often_and_masks_the_oldest_of_the_rest() -> None:
    backend = Summariser(lambda messages: BRIEF)
    view = prepare(react40(), build("delegate", backend), budget())
    assert len(backend.prompts) == view.fates.count("summarised") == MAX_BRIEFS
    touched = [fate for fate in view.fates if fate != "kept"]
    assert touched == ["masked"] * (len(touched) - MAX_BRIEFS) + ["summarised"] * MAX_BRIEFS
    assert len(touched) == 38


@pytest.mark.parametrize("answer", ["empty", "larger"])
def test_a_brief_that_is_none_is_refused_and_not_asked_for_again(answer: str) -> None:
    backend = Summariser(SUMMARISERS[answer])
    strategy = build("delegate", backend)
    for messages in calls_of(react40()):
        view = strategy.prepare(messages, budget())
        assert briefs(view) == []
    read = [prompt[-2].id for prompt in backend.prompts]
    assert read
    assert len(read) == len(set(read))


def test_when_the_model_is_gone_nothing_is_hidden_and_it_is_tried_again_some_turns_later() -> None:
    backend = Summariser(SUMMARISERS["fails"])
    strategy, asked_at = build("delegate", backend), []
    for number, messages in enumerate(calls_of(react40())):
        before = len(backend.prompts)
        assert strategy.prepare(messages, budget()) == messages
        asked_at += [number] * (len(backend.prompts) - before)
    assert len(asked_at) > 3
    assert {later - earlier for earlier, later in pairwise(asked_at)} == {PATIENCE_TURNS}


def test_briefs_that_came_before_the_model_failed_are_kept() -> None:
    backend = Summariser()
    backend.answer = lambda messages: SUMMARISERS["fails"](messages) if len(backend.prompts) == 3 else BRIEF
    view = prepare(react_history(14), build("delegate", backend), budget())
    assert view.fates.count("summarised") == 2
    assert "masked" not in view.fates


def test_the_built_in_reader_can_write_the_briefs() -> None:
    page = "# Caches\nslug: caches · page 1 of 1 · 400 words\n\n" + "\n\n".join(
        f"Fact {number} is that a prefix cache holds {number},000 tokens of the prompt." for number in range(300)
    )
    story = Story().ask("How many tokens does a prefix cache hold?").turn(10).turn(10).turn(10)
    history = [
        Message(one.id, one.role, page, call_id=one.call_id, name=one.name) if index == 3 else one
        for index, one in enumerate(story.messages)
    ]
    strategy = make_strategy("delegate", SideModel(Reader(TinyCounter())))
    (brief,) = briefs(strategy.prepare(history, budget(4_000)))
    assert "prefix cache holds" in brief.content
    assert "[caches]" in brief.content
    assert len(brief.content.split()) <= 80 + len(BRIEF_HEAD.split())
