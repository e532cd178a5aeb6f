"""Fit: the budget is kept or a BudgetError says by how much it cannot be; what must stay stays."""

from __future__ import annotations

import re
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from math import ceil

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import (
    LIMITS,
    SIZES,
    Story,
    TinyCounter,
    budget,
    calls_of,
    is_faithful,
    is_sound,
    outcome,
    react_history,
    sound_histories,
)
from thimble.agent.budget import Budget
from thimble.agent.errors import BudgetError, ThimbleError
from thimble.agent.fit import MIN_HALVED_TOKENS, fit
from thimble.agent.messages import Message, blocks
from thimble.agent.protocols import Strategy
from thimble.agent.turns import pinned, question, task
from thimble.agent.view import View, prepare

MARKER = re.compile(r"\[… ([\d,]+) tokens cut …\]")


def last_turn(messages: Sequence[Message]) -> set[str]:
    """Ids of the newest turn since the question; none where it belongs to an earlier one."""
    asked = question(messages)
    since = messages.index(asked) if asked else -1
    turns = [block for block in blocks(messages) if messages[block.start].role == "assistant" and block.start > since]
    return {messages[index].id for index in turns[-1]} if turns else set()


def never_dropped(messages: Sequence[Message]) -> set[str]:
    """Ids of what no budget may take away."""
    pinned = [message for message in (*task(messages), question(messages)) if message]
    systems = {message.id for message in messages if message.role == "system"}
    return systems | {message.id for message in pinned} | last_turn(messages)


# --- laws -------------------------------------------------------------------------------------------------------------


@given(sound_histories(), LIMITS)
def test_a_view_fits_or_the_error_says_by_how_much_it_does_not(history: list[Message], limit: int) -> None:
    allowed = budget(limit, overhead=25)
    before = deepcopy(history)
    view = outcome(lambda: fit(history, allowed))
    if isinstance(view, BudgetError):
        assert view.needed_tokens > view.available_tokens == limit
    else:
        assert isinstance(view, list)
        assert allowed.size(view) <= min(limit, allowed.size(history))
        assert is_sound(view) == []
        assert is_faithful(view, history) == []
        assert never_dropped(history) <= {message.id for message in view}
        assert fit(view, allowed) == view
    assert history == before


@given(sound_histories(), LIMITS)
def test_fit_gives_up_only_when_nothing_is_left_to_cut(history: list[Message], limit: int) -> None:
    allowed = budget(limit, overhead=25)
    stays = never_dropped(history)
    least = allowed.overhead + sum(
        min(MIN_HALVED_TOKENS, allowed.count(message)) if message.role == "tool" else allowed.count(message)
        for message in history
        if message.id in stays
    )
    view = outcome(lambda: fit(history, allowed))
    if isinstance(view, BudgetError):
        assert limit < view.needed_tokens <= least
    else:
        assert isinstance(view, list)


def test_older_thinking_goes_before_anything_else_and_the_last_before_it_gives_up() -> None:
    thought = "word " * 200
    history = [replace(one, thinking=thought if one.calls else "") for one in react_history(4)]
    plain = [replace(one, thinking="") for one in history]
    cost = budget(10**6).size(history) - budget(10**6).size(plain)
    least = budget(10**6).size(plain)
    for left, kept in ((cost, 4), (cost - 1, 1), (cost // 4 + 4, 1)):
        fitted = fit(history, budget(least + left))
        assert [one.content for one in fitted] == [one.content for one in plain]
        assert sum(bool(one.thinking) for one in fitted) == kept
    short = [*history[:2], history[-2], replace(history[-1], content="17")]
    assert [one.thinking for one in fit(short, budget(budget().size(short) - 1))] == [""] * 4


@given(sound_histories())
def test_nothing_changes_while_it_fits(history: list[Message]) -> None:
    exactly = budget(budget().size(history))
    assert fit(history, exactly) == history


@given(sound_histories(), LIMITS)
def test_only_observations_are_shortened_and_the_marker_says_by_how_much(history: list[Message], limit: int) -> None:
    whole, allowed = {message.id: message for message in history}, budget(limit)
    view = outcome(lambda: fit(history, allowed))
    if isinstance(view, ThimbleError):
        return
    for message in view:
        original = whole[message.id]
        if message.content != original.content:
            assert message.role == "tool"
            assert str(limit) in message.why.replace(",", "")
            head, _, tail = message.content.partition("\n[…")
            assert original.content.startswith(head)
            assert original.content.endswith(tail.partition("…]\n")[2])
            (said,) = MARKER.findall(message.content)
            assert abs(int(said.replace(",", "")) - (allowed.count(original) - allowed.count(message))) <= 12


@given(sound_histories(), LIMITS)
def test_the_oldest_go_first(history: list[Message], limit: int) -> None:
    fitted = outcome(lambda: fit(history, budget(limit)))
    if isinstance(fitted, ThimbleError):
        return
    view = {message.id for message in fitted}
    free = [message.id for message in history if message.id not in never_dropped(history)]
    shown = [id_ in view for id_ in free]
    assert shown == sorted(shown)


# --- the prefix -------------------------------------------------------------------------------------------------------


@dataclass
class Nothing(Strategy):
    """Leaves it all to fit."""

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        return list(messages)


def views_of(history: Sequence[Message], limit: int) -> list[View]:
    """The views of a history's calls, one after the other."""
    views: list[View] = []
    for messages in calls_of(history):
        views.append(prepare(messages, Nothing(), budget(limit), views[-1] if views else None))
    return views


@given(st.lists(SIZES, min_size=20, max_size=60), st.integers(2_000, 9_000))
def test_the_prefix_changes_once_per_quarter_of_growth_and_once_per_large_result(sizes: list[int], limit: int) -> None:
    story = Story().ask("?")
    for size in sizes:
        story.turn(size)
    edits = sum(view.edited for view in views_of(story.messages, limit))
    over = budget().size(story.messages) - limit
    large = sum(size > limit // 8 for size in sizes)
    assert edits <= max(0, ceil(over / (limit / 4))) + large


@dataclass
class Masking(Strategy):
    """Masks what is older than the newest turns, so many turns at a time: what it leaves grows, and shrinks at once."""

    every: int

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        found = [message for message in messages if message.role == "tool"]
        old = {message.id for message in found[: len(found) // self.every * self.every]}
        return [message.rewritten("[masked]", "old") if message.id in old else message for message in messages]


@given(st.lists(st.integers(50, 400), min_size=20, max_size=60), st.integers(3, 9), st.integers(1_000, 3_000))
def test_between_two_edits_of_the_strategy_the_view_changes_only_where_more_has_to_go(
    sizes: list[int], every: int, limit: int
) -> None:
    story, allowed, strategy = Story().ask("?"), budget(limit), Masking(every)
    for size in sizes:
        story.turn(size, says=60)
    before: View | None = None
    nothing_halved = max(sizes) + 4 <= max(MIN_HALVED_TOKENS, limit // 8)
    for messages in calls_of(story.messages):
        view = prepare(messages, strategy, allowed, before)
        if before and nothing_halved and allowed.over(strategy.prepare(messages, allowed)):
            kept = [message for message in strategy.prepare(messages, allowed) if message.id not in _dropped(before)]
            if allowed.size(kept) >= limit / 2:
                assert _dropped(before) <= _dropped(view)
                assert allowed.over(kept) or list(view.messages) == kept
        before = view


@given(st.lists(st.integers(50, 400), min_size=20, max_size=60), st.integers(1_000, 3_000), st.booleans())
def test_messages_that_another_strategy_or_a_smaller_budget_left_out_come_back(
    sizes: list[int], limit: int, narrow: bool
) -> None:
    story = Story().ask("?")
    for size in sizes:
        story.turn(size, says=60)
    messages, allowed = story.messages, budget(limit)
    before = prepare(messages, *((Nothing(), budget(limit // 4)) if narrow else (Newest(), allowed)))
    assert prepare(messages, Nothing(), allowed, before).tokens >= min(
        allowed.size(messages), limit / 2 - max(sizes) - 100
    )


class Newest(Strategy):
    """Keeps the question and the newest turn."""

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        newest = last_turn(messages)
        return [message for message in messages if message.role in ("system", "user") or message.id in newest]


def _dropped(view: View) -> set[str]:
    return {message.id for message, fate in view.fated if fate == "dropped"}


@given(sound_histories(most_turns=6), st.lists(SIZES, max_size=6), LIMITS)
def test_a_task_of_several_messages_loses_the_oldest_where_nothing_else_can_go(
    history: list[Message], sizes: list[int], limit: int
) -> None:
    system = sum(message.role == "system" for message in history[:1])
    told = [Message(f"e{at}", "user", "word " * size) for at, size in enumerate(sizes)]
    history[system:system] = told
    allowed, first = budget(limit), task(history)
    view = outcome(lambda: fit(history, allowed, pinned(history), early={*first[:-1]}))
    if isinstance(view, BudgetError):
        bare = outcome(lambda: fit([message for message in history if message not in first[:-1]], allowed))
        assert isinstance(bare, BudgetError)
        assert bare.needed_tokens == view.needed_tokens
        return
    assert isinstance(view, list)
    shown = [message for message in first if message in view]
    assert shown == first[len(first) - len(shown) :]
    assert shown or not first
    if len(shown) < len(first):
        assert allowed.size([*view, first[-len(shown) - 1]]) > limit
        assert {message.id for message in view} <= never_dropped(history)


# --- examples ---------------------------------------------------------------------------------------------------------


def test_a_question_larger_than_the_budget_is_an_error_with_both_numbers() -> None:
    history = Story().ask("word " * 4_000).messages
    with pytest.raises(BudgetError, match=r"needs 5,\d{3} tokens and the budget holds 800") as caught:
        fit(history, budget(800))
    assert caught.value.available_tokens == 800
    assert caught.value.needed_tokens == budget().size(history)
    assert caught.value.fix


def test_results_that_cutting_would_not_shorten_stay_whole() -> None:
    class Flat(TinyCounter):
        def count(self, message: Message) -> int:
            return 100

    history = Story().ask("?").turn(50).turn(50).turn(50).messages
    view = fit(history, Budget(500, Flat()))
    assert [message.id for message in view] == ["m1", "m2", "m7", "m8"]
    assert view[-1] is history[-1]


def test_a_summary_goes_after_what_is_not_summarised() -> None:
    head, rest = react_history(20, 100)[:2], react_history(20, 100)[2:]
    summary = Message("s", "user", "what was found", why="stands for 20 messages", covers=("x", "y"))
    fitted = fit([*head, summary, *rest], budget(1_000))
    assert fitted[:3] == [*head, summary]
    assert len(fitted) < 20


def test_without_a_system_message_the_first_message_stands_once() -> None:
    history = react_history(20, 100)[1:]
    fitted = fit(history, budget(1_000))
    assert is_sound(fitted) == []
    assert fitted[0] == history[0]
    assert budget().size(fitted) > 700
