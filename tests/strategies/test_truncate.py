"""truncate: the newest that fit and nothing before them, at every call anew."""

from __future__ import annotations

from hypothesis import given

from tests.support.histories import LIMITS, Story, budget, calls_of, react, react40, sound_histories
from thimble.agent.messages import Message, blocks, turns
from thimble.agent.turns import pinned
from thimble.agent.view import prepare
from thimble.strategies.truncate import Truncate


@given(sound_histories(most_turns=40), LIMITS)
def test_it_keeps_the_longest_end_of_whole_blocks_that_fits(history: list[Message], limit: int) -> None:
    allowed = budget(limit, overhead=20)
    stays = pinned(history)
    ends = [history[block.start :] for block in blocks(history)]
    views = [[m for m in history if m in stays or m in end] for end in ends] or [history]
    fitting = [view for view in views if not allowed.over(view)]
    assert Truncate().prepare(history, allowed) == (fitting or views[-1:])[0]


def test_over_the_budget_every_call_is_an_edit_and_nearly_all_prefill() -> None:
    strategy, before = Truncate(), None
    for messages in calls_of(react40()):
        before = prepare(messages, strategy, budget(), before)
        if budget().over(messages):
            assert before.edited
            assert before.prefill > 0.9 * before.tokens
            assert set(before.fates) == {"kept", "dropped"}
        else:
            assert set(before.fates) == {"kept"}


def test_what_was_dropped_comes_back_with_a_larger_budget() -> None:
    strategy = Truncate()
    assert strategy.prepare(react40(), budget(2_000)) != react40()
    assert strategy.prepare(react40(), budget(10**9)) == react40()


def test_a_newest_turn_that_does_not_fit_is_left_to_fit() -> None:
    history = Story().ask("?").turn(300).turn(5_000).messages
    assert Truncate().prepare(history, budget(1_000)) == [*history[:2], *history[4:]]
    assert prepare(history, Truncate(), budget(1_000)).fates[2:] == ("dropped", "dropped", "kept", "shortened")


def test_a_turn_that_does_not_fit_hides_all_before_it() -> None:
    history = Story().ask("?").turn(100).turn(5_000).turn(100).messages
    view = Truncate().prepare(history, budget(1_000))
    assert [message.id for message in view] == ["m1", "m2", "m7", "m8"]
    assert len(turns(Truncate().prepare(react(3, 100), budget(1_000)))) == 3
