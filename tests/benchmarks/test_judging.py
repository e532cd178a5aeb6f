"""The judge of the side-by-side benchmark: what it must see, and what it must not invent."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given

from benchmarks.judging import BUDGET, COUNT, SUMMARY, invalid, judge, lists, missing, unread
from tests.support.histories import Story, budget, calls_of, react, sound_histories
from thimble.agent.messages import Message, common_prefix
from thimble.agent.repair import repair
from thimble.agent.view import prepare
from thimble.strategies.none import NoManagement
from thimble.strategies.sliding_window import SlidingWindow


def told() -> list[Message]:
    return Story().ask("task?").turn(60, 60).answer("so").ask("question?").turn(60).turn(60).messages


def test_a_sound_history_is_its_own_faultless_view() -> None:
    for history in calls_of(told()):
        verdict = judge(history, history)
        assert not verdict.faults
        assert not verdict.over
        assert not verdict.unread


@pytest.mark.parametrize("at", [at for at, message in enumerate(told()) if message.role == "tool" or message.calls])
def test_an_orphan_is_seen_wherever_it_is(at: int) -> None:
    assert invalid([message for place, message in enumerate(told()) if place != at])


def test_a_call_at_the_end_without_a_result_is_seen() -> None:
    assert invalid(Story().ask("task?").turn(60, pending=1).messages)


def test_no_message_at_all_is_a_fault() -> None:
    assert invalid([])


def test_a_lost_question_and_a_lost_task_are_seen() -> None:
    history = told()
    kept = [message for message in history if message.content != "question?"]
    assert missing(kept, history) == ["the question is lost"]
    kept = [message for message in history if message.content != "task?"]
    assert missing(kept, history) == ["the task is lost"]
    assert missing([*kept, Message("s", "user", f"so far: {SUMMARY}")], history) == []


def test_a_question_that_someone_else_says_is_not_the_users() -> None:
    history = told()
    view = [replace(message, role="assistant") if message.content == "question?" else message for message in history]
    assert missing(view, history) == ["the question is lost"]


def test_over_the_budget_is_seen_and_at_the_budget_is_not() -> None:
    spare = BUDGET - COUNT(Message("q", "user")) - COUNT(Message("a", "assistant"))
    for more, over in ((0, False), (1, True)):
        view = [Message("q", "user", "x" * 4 * (spare + more)), Message("a", "assistant")]
        verdict = judge(view, view)
        assert verdict.tokens == BUDGET + more
        assert verdict.over is over


def test_prefill_of_an_append_only_conversation_is_the_sum_of_its_new_tokens() -> None:
    history, before, prefill = react(40, at_once=2), list[Message](), 0
    for view in calls_of(history):
        prefill += judge(view, view, before).prefill
        before = view
    assert prefill == sum(map(COUNT, history))


@given(sound_histories())
def test_prefill_is_what_the_projects_own_measurement_says(history: list[Message]) -> None:
    before = None
    for messages in calls_of(repair(history).messages):
        view = prepare(messages, NoManagement(), budget(BUDGET), before)
        assert judge(view.messages, messages, before.messages if before else ()).prefill == view.prefill
        before = view


def test_an_edit_makes_all_behind_it_prefill() -> None:
    view = told()
    edited = [view[0], view[1].rewritten("shorter", "a test"), *view[2:]]
    assert common_prefix(edited, view) == 1
    assert judge(edited, view, view).prefill == sum(map(COUNT, edited[1:]))


def test_a_result_that_no_call_ever_showed_is_seen() -> None:
    history = Story().ask("task?").turn(600, 600).messages
    cleared = [*history[:-1], history[-1].rewritten("[cleared]", "a test")]
    cut = [*history[:-1], history[-1].rewritten(history[-1].content[:40] + " … cut", "a test")]
    assert unread(cleared, history)
    assert unread(history[:2], history)
    assert not unread(cut, history)
    assert not unread(history, history)


def test_ours_are_judged_sound_on_every_list() -> None:
    for name, messages in lists().items():
        strategy, before = SlidingWindow(), None
        for history in calls_of(messages):
            before = prepare(history, strategy, budget(BUDGET), before)
            verdict = judge(before.messages, history)
            assert (verdict.faults, verdict.over, verdict.unread) == ((), False, False), name
