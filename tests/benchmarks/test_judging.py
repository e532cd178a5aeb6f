"""The judge of the side-by-side benchmark: what it must see, and what it must not invent."""

from __future__ import annotations

import pytest
from hypothesis import given

from benchmarks.judging import BUDGET, COUNT, SUMMARY, invalid, judge, lists, missing, unread
from tests.support.histories import Story, budget, calls_of, sound_histories
from thimble.agent.messages import Message
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


def test_a_lost_question_and_a_lost_task_are_seen() -> None:
    history = told()
    kept = [message for message in history if message.content != "question?"]
    assert missing(kept, history) == ["the question is lost"]
    kept = [message for message in history if message.content != "task?"]
    assert missing(kept, history) == ["the task is lost"]
    assert missing([*kept, Message("s", "user", f"so far: {SUMMARY}")], history) == []


def test_over_the_budget_is_seen_and_at_the_budget_is_not() -> None:
    spare = BUDGET - COUNT(Message("q", "user")) - COUNT(Message("a", "assistant"))
    for more, over in ((0, False), (1, True)):
        view = [Message("q", "user", "x" * 4 * (spare + more)), Message("a", "assistant")]
        verdict = judge(view, view)
        assert verdict.tokens == BUDGET + more
        assert verdict.over is over


@given(sound_histories())
def test_prefill_is_what_the_projects_own_measurement_says(history: list[Message]) -> None:
    before = None
    for messages in calls_of(repair(history).messages):
        view = prepare(messages, NoManagement(), budget(BUDGET), before)
        assert judge(view.messages, messages, before.messages if before else ()).prefill == view.prefill
        before = view


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
