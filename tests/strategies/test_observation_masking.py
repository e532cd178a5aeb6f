"""observation-masking: the paper's rule to the letter, and ours, which must be worth its prefill."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import LIMITS, SIZES, Story, budget, calls_of, react40, react_history, sound_histories
from tests.support.specs import build
from thimble.agent.budget import Budget
from thimble.agent.messages import Message, turns
from thimble.agent.view import prepare
from thimble.strategies.masks import mask_message
from thimble.strategies.observation_masking import ObservationMasking


def masked(view: Sequence[Message]) -> list[str]:
    return [message.call_id for message in view if message.content.startswith("[masked: ")]


# --- when=always: The Complexity Trap, Eq. 3 and 4 --------------------------------------------------------------------


def eq_3_and_4(observations: Sequence[Sequence[int]], window: int) -> list[list[bool]]:
    """Whether each o'_i of the trajectory at the beginning of turn t is p_i, from the equations alone."""
    t, m = len(observations) + 1, window
    return [[i < t - m for _ in observations[i - 1]] for i in range(1, t)]


def polled(observations: Sequence[Sequence[int]], window: int, every: int) -> list[list[bool]]:
    """The same where as many turns as Eq. 4 masks, rounded down to a multiple of `every`, are p_i."""
    t, m = len(observations) + 1, window
    moved_at = max((turn for turn in range(1, t + 1) if (turn - 1 - m) % every == 0), default=0)
    return [[i < moved_at - m for _ in observations[i - 1]] for i in range(1, t)]


def told(observations: Sequence[Sequence[int]]) -> list[Message]:
    story = Story().ask("?")
    for of_turn in observations:
        story.turn(*[200 + tokens for tokens in of_turn])
    return story.messages


def condensed(history: Sequence[Message], placeholders: Sequence[Sequence[bool]]) -> list[Message]:
    """Eq. 3: system, user and every (r_i, a_i, o'_i) as they were, but for the o'_i that are p_i."""
    hidden = iter([one for turn in placeholders for one in turn])
    return [replace(one, content=p(one)) if one.role == "tool" and next(hidden) else one for one in history]


def unexplained(view: Sequence[Message]) -> list[Message]:
    return [replace(one, why="") for one in view]


def p(o: Message) -> str:
    """The placeholder of an observation, which says how much is hidden."""
    return f"[masked: {len(o.content):,} characters of read_article; call it again if you need it]"


TRAJECTORIES = st.lists(st.lists(SIZES, min_size=1, max_size=3), max_size=30)


@given(TRAJECTORIES, st.integers(0, 32), LIMITS)
def test_eq_3_and_4_to_the_letter(observations: list[list[int]], window: int, limit: int) -> None:
    view = build(f"observation-masking:window={window},when=always").prepare(told(observations), budget(limit))
    assert unexplained(view) == condensed(told(observations), eq_3_and_4(observations, window))


@given(TRAJECTORIES, st.integers(0, 32), st.integers(1, 12))
def test_in_steps_to_the_letter(observations: list[list[int]], window: int, every: int) -> None:
    spec = f"observation-masking:window={window},when=always,every={every}"
    view = build(spec).prepare(told(observations), budget())
    assert unexplained(view) == condensed(told(observations), polled(observations, window, every))


@given(st.integers(1, 6), st.integers(1, 7), st.integers(1, 30))
def test_in_steps_one_call_in_so_many_is_an_edit(window: int, every: int, steps: int) -> None:
    strategy, before, edits = build(f"observation-masking:window={window},when=always,every={every}"), None, []
    for messages in calls_of(react_history(steps, 100)):
        before = prepare(messages, strategy, budget(10**9), before)
        edits += [len(turns(messages))] if before.edited else []
    assert edits == list(range(window + every, steps + 1, every))


@given(sound_histories(), st.integers(0, 12), LIMITS)
def test_eq_4_masks_each_old_observation_however_short(history: list[Message], window: int, limit: int) -> None:
    view = ObservationMasking(window, "always").prepare(history, budget(limit))
    found = [turn for turn in turns(history) if history[turn.start].calls]
    old_turns = [turn for turn in found[: max(0, len(found) - window)] if len(turn) > len(history[turn.start].calls)]
    old = {history[index].id for turn in old_turns for index in turn[1:]}
    for message, shown in zip(history, view, strict=True):
        assert shown.same(mask_message(message) if message.id in old else message)


def test_a_mask_names_the_tool_the_length_and_the_rule() -> None:
    view = ObservationMasking(1, "always").prepare(react_history(3), budget())
    assert masked(view) == ["c1", "c2"]
    assert view[3].content == "[masked: 2,400 characters of read_article; call it again if you need it]"
    assert ObservationMasking(1, "always").prepare(view, budget()) == view
    assert "\n" not in view[3].content
    assert view[3].why == "older than the newest turn"


# --- when=over --------------------------------------------------------------------------------------------------------


def all_that_saves(history: Sequence[Message], window: int, allowed: Budget) -> list[Message]:
    """Every mask of the paper's rule that is shorter than its observation."""
    paper = ObservationMasking(window, "always").prepare(history, allowed)
    return [min(pair, key=allowed.count) for pair in zip(history, paper, strict=True)]


@given(sound_histories(most_turns=40), LIMITS, st.integers(0, 6), st.sampled_from([0.1, 0.4, 1.0]))
def test_masks_stay_and_the_newest_turn_is_never_masked(
    history: list[Message], limit: int, window: int, target: float
) -> None:
    strategy, before = ObservationMasking(window, "over", target), set()
    for messages in calls_of(history):
        view = strategy.prepare(messages, budget(limit))
        now = set(masked(view))
        assert before <= now
        newest = turns(messages)[-1:]
        assert not now & {messages[index].call_id for turn in newest for index in turn[1:]}
        before = now


@given(sound_histories(most_turns=40), LIMITS, st.integers(0, 6), st.sampled_from([0.1, 0.4, 1.0]))
def test_over_the_budget_only_when_masks_alone_cannot_help(
    history: list[Message], limit: int, window: int, target: float
) -> None:
    allowed = budget(limit)
    strategy = ObservationMasking(window, "over", target)
    for messages in calls_of(history):
        view = strategy.prepare(messages, allowed)
        if allowed.over(view):
            assert allowed.over(all_that_saves(messages, 1, allowed))


@given(sound_histories(most_turns=40), LIMITS, st.integers(1, 6), st.sampled_from([0.1, 0.4, 1.0]))
def test_old_observations_go_oldest_first_down_to_the_target(
    history: list[Message], limit: int, window: int, target: float
) -> None:
    allowed = budget(limit)
    view = ObservationMasking(window, "over", target).prepare(history, allowed)
    hidden = set(masked(view))
    if not hidden:
        return
    most = all_that_saves(history, window, allowed)
    may_go = masked(most)
    chosen = [id_ in hidden for id_ in may_go]
    assert chosen == sorted(chosen, reverse=True)
    if allowed.size(view) > target * limit:
        assert all(chosen)
    if allowed.size(most) <= limit:
        assert hidden <= set(may_go)


@given(st.sampled_from(["over", "always"]), st.integers(0, 5), st.integers(1, 6), LIMITS)
def test_an_answer_takes_no_place_in_the_window(when: str, window: int, exchanges: int, limit: int) -> None:
    """The same observations are masked whether the user asks once or, after an answer each, many times."""
    once, often = Story().ask("?"), Story().ask("?")
    for _ in range(exchanges):
        for _step in range(3):
            once.turn(600)
            often.turn(600)
        often.answer("").ask("")
    once_masked, often_masked = (
        masked(build(f"observation-masking:window={window},when={when}").prepare(told.messages, budget(limit)))
        for told in (once, often)
    )
    assert set(once_masked) == set(often_masked) if when == "always" else set(once_masked) <= set(often_masked)


def test_why_says_how_full_the_view_was() -> None:
    view = ObservationMasking(2).prepare(react40(), budget())
    assert view[3].why == (
        "older than the 2 newest turns, masked; the view was 26,185 of 8,000 tokens; "
        "wanted 40% of the budget, reached 51%: the 2 newest turns stay"
    )


def test_only_a_mask_stays_as_it_is() -> None:
    result = Message("m3", "tool", "a page\n" * 90, call_id="c", name="read_article")
    text = f"{mask_message(result).content}\nstands first in this page"
    assert mask_message(mask_message(result, "old"), "new") == mask_message(result, "old")
    assert (
        mask_message(result.rewritten(text, "tidied")).content
        == mask_message(result.rewritten(text, "")).content
        != text
    )
