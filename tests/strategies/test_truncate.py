"""truncate: the newest that fit and nothing before them, at every call anew."""

from __future__ import annotations

from hypothesis import given

from tests.support.histories import LIMITS, Story, budget, sound_histories
from thimble.agent.messages import Message, blocks
from thimble.agent.turns import pinned
from thimble.agent.view import prepare
from thimble.strategies.truncate import Truncate


@given(sound_histories(most_turns=40), LIMITS)
def test_truncate_keeps_the_longest_end_of_whole_blocks_that_fits(history: list[Message], limit: int) -> None:
    allowed = budget(limit, overhead=20)
    stays = pinned(history)
    ends = [history[block.start :] for block in blocks(history)]
    views = [[m for m in history if m in stays or m in end] for end in ends] or [history]
    fitting = [view for view in views if not allowed.over(view)]
    assert Truncate().prepare(history, allowed) == (fitting or views[-1:])[0]


def test_a_newest_turn_that_does_not_fit_is_left_to_fit() -> None:
    history = Story().ask("?").turn(300).turn(5_000).messages
    assert Truncate().prepare(history, budget(1_000)) == [*history[:2], *history[4:]]
    assert prepare(history, Truncate(), budget(1_000)).fates[2:] == ("dropped", "dropped", "kept", "shortened")
