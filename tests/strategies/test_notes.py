"""notes: what was noted may go, what was not stays; the notes come last, and never cost more than there is room for."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import LIMITS, Story, budget, calls_of, sound_histories
from thimble.agent.messages import NO_RESULT, Message, ToolCall, turns
from thimble.agent.prompts import SUMMARY_TAG
from thimble.agent.view import prepare
from thimble.strategies.notes import NOTES_REQUEST, Notes
from thimble.strategies.recital import without_recital


def hidden(view: list[Message]) -> list[str]:
    return [message.id for message in view if message.content.startswith("[masked: ")]


def recital(view: list[Message], history: list[Message]) -> str:
    """What is said behind the history, without its first line."""
    said = [message.content for message in view[len(without_recital(view, history)) :]]
    assert len(said) <= 1
    assert all(text.startswith(f"{SUMMARY_TAG}\n") for text in said)
    return "".join(text.split("\n", 1)[1] for text in said)


def noted_every(steps: int, upto: int = 40, tokens: int = 600) -> Story:
    """A question, and a note after each so many turns of reading."""
    story = Story().ask("?")
    for step in range(1, upto + 1):
        story.turn(tokens)
        if step % steps == 0:
            story.note(f"fact number {step} stands in s{step}")
    return story


# --- what goes --------------------------------------------------------------------------------------------------------


@given(sound_histories(most_turns=40), LIMITS, st.integers(0, 6), st.sampled_from([0.1, 0.4, 1.0]))
def test_only_what_a_note_follows_goes_and_not_from_the_newest_turns(
    history: list[Message], limit: int, window: int, target: float
) -> None:
    strategy = Notes(window, target)
    for messages in calls_of(history):
        view = strategy.prepare(messages, budget(limit))
        place = {message.id: index for index, message in enumerate(messages)}
        kept = [m.call_id for m in messages if m.name == "save_note" and not m.content.startswith("Error")]
        noting = [index for index, m in enumerate(messages) for call in m.calls if call.id in kept]
        recent = [len(messages), *(turn.start for turn in reversed(turns(messages)))][: window + 1][-1]
        assert all(place[id_] < min(max(noting), recent) for id_ in hidden(view))


def test_the_oldest_go_first_down_to_the_target() -> None:
    history = noted_every(5, 13).messages
    view = Notes().prepare(history, budget())
    results = [m.id for m in history if m.name == "read_article"]
    assert hidden(view) == results[: len(hidden(view))]
    assert budget().size(without_recital(view, history)) <= 0.4 * 8_000
    assert prepare(history, Notes(), budget()).acted == {"masked": len(hidden(view))}


@pytest.mark.parametrize("result", ["Error: the note has no text", "[cancelled before it returned]", NO_RESULT])
def test_a_note_that_was_not_kept_is_none(result: str) -> None:
    history = Story().ask("?").turn(3_000).turn(3_000).note("a fact", result).turn(3_000).turn(100).messages
    assert hidden(Notes().prepare(history, budget())) == []
    kept = Story().ask("?").turn(3_000).turn(3_000).note("a fact").turn(3_000).turn(100).messages
    assert hidden(Notes().prepare(kept, budget())) == ["m4", "m6"]


@pytest.mark.parametrize("arguments", ["", "{", "[]", "{}", '{"text": ""}', '{"text": 3}', '{"title": 3, "text": "a"}'])
def test_a_call_that_holds_no_note_is_none(arguments: str) -> None:
    history = Story().ask("?").turn(5_000).turn(5_000).turn(100).note("x").turn(100).turn(100).messages
    assert hidden(Notes().prepare(history, budget())) == ["m4", "m6"]
    at = next(index for index, message in enumerate(history) if message.content == "I note it.")
    call = ToolCall(history[at].calls[0].id, "save_note", arguments)
    history[at] = Message(history[at].id, "assistant", "I note it.", calls=(call,))
    assert hidden(Notes().prepare(history, budget())) == []


# --- what is said at the end ------------------------------------------------------------------------------------------


def test_the_notes_are_recited_each_once_the_newest_last() -> None:
    story = Story().ask("?").turn(1_200).note("first").note("second").note("first").turn(900).turn(900)
    strategy = Notes()
    view = strategy.prepare(story.messages, budget(3_000))
    assert hidden(view)
    assert recital(view, story.messages) == "Your notes so far, the newest last:\n- found: second\n- found: first"
    assert prepare(story.messages, strategy, budget(3_000)).inserted == (len(view) - 1,)


def test_only_the_newest_notes_are_recited_and_a_long_one_is_cut() -> None:
    story = Story().ask("?").turn(900).turn(900)
    for n in range(10):
        story.note(f"number {n} " + "long " * 20)
    view = Notes(words=50).prepare(story.messages, budget(2_000))
    text = recital(view, story.messages)
    assert text.startswith("Your notes so far, the newest last; get_notes has 8 older ones:\n- found: number 8")
    view = Notes(words=10).prepare(story.messages, budget(2_000))
    assert len(recital(view, story.messages).split("\n")[1]) <= 62


@given(sound_histories(most_turns=40), LIMITS, st.integers(0, 4), st.sampled_from([0.1, 0.9]))
def test_words_at_the_end_never_take_room_that_is_not_there(
    history: list[Message], limit: int, window: int, warn: float
) -> None:
    strategy, allowed = Notes(window, warn=warn), budget(limit)
    for messages in calls_of(history):
        view = strategy.prepare(messages, allowed)
        if recital(view, messages):
            assert allowed.size(view) <= min(limit, allowed.size(messages))
            assert NOTES_REQUEST in recital(view, messages) or hidden(view)


def test_over_the_budget_with_nothing_noted_it_asks_and_what_is_noted_then_goes() -> None:
    strategy, asked = Notes(), []
    story = Story().ask("?")
    for _ in range(20):
        story.turn(600)
        view = strategy.prepare(story.messages, budget())
        assert hidden(view) == []
        asked += [NOTES_REQUEST in recital(view, story.messages)]
        assert budget().over(story.messages) == asked[-1]
        assert not budget().over(view)
        if asked[-1]:
            break
    story.note("all that matters")
    view = strategy.prepare(story.messages, budget())
    assert hidden(view)
    assert recital(view, story.messages) == "Your notes so far, the newest last:\n- found: all that matters"
    assert {message.content[:8] for message in view if message.role == "tool"} == {"[masked:", "result c", "Saved no"}


def test_notes_asks_before_the_budget_is_full_once_something_has_gone() -> None:
    strategy = Notes()
    story = noted_every(9, 13)
    while not budget().over(without_recital(strategy.prepare(story.messages, budget()), story.messages)):
        view = strategy.prepare(story.messages, budget())
        size = budget().size(without_recital(view, story.messages))
        assert (NOTES_REQUEST in recital(view, story.messages)) == (size > 0.9 * 8_000)
        if NOTES_REQUEST in recital(view, story.messages):
            assert "fact number 9" in recital(view, story.messages)
            break
        story.turn(200)
    assert NOTES_REQUEST in recital(view, story.messages)
