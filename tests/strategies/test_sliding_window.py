"""sliding-window: old turns go whole; the task and the question stay."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import (
    LIMITS,
    Story,
    budget,
    calls_of,
    pending_calls,
    react40,
    react_history,
    sound_histories,
    words,
)
from thimble.agent.messages import Message, blocks, turns
from thimble.agent.turns import question, task
from thimble.strategies.sliding_window import SlidingWindow, WindowState


@given(sound_histories(most_turns=40), st.integers(0, 40), LIMITS)
def test_a_window_keeps_so_many_turns(history: list[Message], window: int, limit: int) -> None:
    view = SlidingWindow(window=window).prepare(history, budget(limit))
    found = turns(history)
    waits = bool(pending_calls(history))
    kept = found[len(found) - max(window, waits) :] if max(window, waits) < len(found) else found
    assert len(turns(view)) == len(kept)
    first = kept[0].start if kept else len(history)
    stays = {message.id for message in (*task(history), question(history)) if message}
    assert view == [
        message
        for index, message in enumerate(history)
        if index >= first or message.role == "system" or message.id in stays
    ]


@given(sound_histories(most_turns=40), LIMITS, st.sampled_from([0.1, 0.4, 1.0]))
def test_over_the_budget_it_comes_down_to_the_target_or_to_the_last_block(
    history: list[Message], limit: int, target: float
) -> None:
    allowed = budget(limit)
    view = SlidingWindow(target=target).prepare(history, allowed)
    if not allowed.over(history):
        assert view == history
    elif allowed.size(view) > target * limit:
        last = {history[index].id for index in blocks(history)[-1]}
        stays = last | {message.id for message in (*task(history), question(history)) if message}
        assert all(message.role == "system" or message.id in stays for message in view)


@given(sound_histories(most_turns=40), LIMITS, LIMITS)
def test_a_room_is_a_budget_of_its_own(history: list[Message], room: int, limit: int) -> None:
    with_room, plain = SlidingWindow(room=room), SlidingWindow()
    for messages in calls_of(history):
        assert with_room.prepare(messages, budget(limit)) == plain.prepare(messages, budget(min(room, limit)))


def test_the_newest_turns_stay_in_a_row_and_no_more_go_than_must() -> None:
    view = SlidingWindow().prepare(react40(), budget())
    assert view == [*react40()[:2], *react40()[-(len(view) - 2) :]]
    assert len(view) > 4


def test_a_question_that_slid_out_does_not_go_in_mid_prefix_when_the_next_is_asked() -> None:
    story = Story().ask("the task").turn(100).ask("second").turn(100).turn(400).turn(400).turn(100)
    story.ask("third")
    strategy, views = SlidingWindow(), []
    for messages in calls_of(story.messages):
        states = dict(strategy.state)
        views.append(strategy.prepare(messages, budget(800)))
        if states == strategy.state:
            assert len(views) < 2 or views[-1][: len(views[-2])] == views[-2]
    assert "first" in strategy.state


def test_a_message_that_comes_to_stand_behind_the_task_is_not_the_task() -> None:
    """In a chat each slide may end before a user's message, which then follows the task in the view."""
    story, strategy = Story().ask("the task"), SlidingWindow()
    for number in range(40):
        story.answer(words(40)).ask(words(20, f"question {number}"))
    for messages in calls_of(story.messages):
        view = strategy.prepare(messages, budget(800))
    assert view[1:2] == task(story.messages)
    assert view[2:] == story.messages[-len(view[2:]) :]


def test_a_history_without_its_first_kept_message_starts_anew() -> None:
    strategy = SlidingWindow(memory=WindowState("gone"))
    assert strategy.prepare(react_history(3), budget()) == react_history(3)
