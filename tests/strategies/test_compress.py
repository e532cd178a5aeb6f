"""compress: which observations shrink, when, and how far."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies.test_laws import views
from tests.support.histories import LIMITS, Story, budget, calls_of, react_history, sound_histories
from tests.support.specs import build
from thimble.agent.messages import Message, turns
from thimble.agent.view import prepare
from thimble.strategies.compress import compress_message

PROSE = (
    "The server of the library has a cache, and the cache of the server is what makes it fast when the same words are "
    "read again. In 2017 it was 57.2% faster than parse_config() in Smallville. It is not a part of the index. "
)


def reading(steps: int) -> list[Message]:
    """A history whose observations are prose, each a little different."""
    history, told = react_history(steps), 0
    for place, message in enumerate(history):
        if message.role == "tool":
            told += 1
            history[place] = replace(message, content=f"# Result {told}\n" + PROSE * 8)
    return history


def test_a_copy_depends_on_its_message_alone() -> None:
    (message,) = [message for message in reading(1) if message.role == "tool"]
    copy = compress_message(message, 0.5)
    head, _, rest = copy.content.partition("\n")
    of = len(message.content.split())
    assert head == f'[{len(rest.split())} of {of} words; recall(id="{message.id}") shows all]'
    assert rest.startswith("# Result 1\n")
    assert copy.why == "compressed to 879 of 1,763 characters"
    assert compress_message(replace(message), 0.5) == copy


# --- when -------------------------------------------------------------------------------------------------------------


def test_old_observations_are_compressed_and_called_shortened() -> None:
    history = reading(24)
    view = prepare(history, build("compress"), budget(8_000))
    assert view.tokens <= 8_000
    assert set(view.fates) <= {"kept", "shortened", "dropped"}
    assert "shortened" in view.fates
    assert set(view.fates[-4:]) == {"kept"}


@given(sound_histories(most_turns=40), LIMITS, st.integers(0, 4), st.sampled_from([0.2, 0.5, 1.0]))
def test_the_newest_turns_stay_where_older_ones_can_make_room(
    history: list[Message], limit: int, window: int, target: float
) -> None:
    strategy = build(f"compress:window={window},target={target}")
    for messages in calls_of(history):
        done = set(strategy.state.get("times", ()))  # type: ignore[attr-defined]
        strategy.prepare(messages, budget(limit))
        times = strategy.state.get("times", {})  # type: ignore[attr-defined]
        newest = {messages[index].id for turn in turns(messages)[-max(1, window) :] for index in turn}
        if newest & (times.keys() - done):
            old = {id_: step for id_, step in times.items() if id_ not in newest}
            view = [compress_message(one, 0.5 ** old[one.id]) if one.id in old else one for one in messages]
            assert budget(limit).size(view) > limit


def test_oldest_first_and_once_more_where_that_is_not_enough() -> None:
    for target, most in (("1", 1), ("0.5", 2)):
        strategy = build(f"compress:target={target}")
        strategy.prepare(reading(13), budget(6_000))
        times = list(strategy.state.get("times", {}).values())  # type: ignore[attr-defined]
        assert times[0] == most
        assert times == sorted(times, reverse=True)


def test_an_edit_leaves_half_so_that_prefill_is_higher_than_with_masks_but_not_out_of_hand() -> None:
    prefill = {
        spec: sum(view.prefill for _, view in views(build(spec), reading(40), budget(8_000)))
        for spec in ("none", "observation-masking", "compress")
    }
    assert prefill["observation-masking"] < prefill["compress"] < 1.8 * prefill["none"]


# --- on arrival -------------------------------------------------------------------------------------------------------


@given(sound_histories(most_turns=20), LIMITS)
def test_on_arrival_no_view_changes_what_was_sent_before(history: list[Message], limit: int) -> None:
    strategy = build("compress:when=arrival")
    before: Sequence[Message] = ()
    for messages in calls_of(history):
        view = strategy.prepare(messages, budget(limit))
        assert list(view[: len(before)]) == list(before)
        before = view


def test_on_arrival_long_results_lose_half_and_what_recall_gives_back_stays() -> None:
    story = Story().ask("?").turn(600).turn(100).turn(600)
    history = [replace(one, name="recall") if one is story.messages[-1] else one for one in story.messages]
    view = build("compress:when=arrival").prepare([*history, Message("q", "user", "?")], budget(10**6))
    sizes = [len(one.content) / len(whole.content) for one, whole in zip(view, history, strict=False) if whole.name]
    assert sizes[1:] == [1.0, 1.0]
    assert 0.3 < sizes[0] <= 0.5
