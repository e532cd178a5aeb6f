"""Replay: a view for each call that a history tells of, and for the one that comes next."""

from __future__ import annotations

from tests.support.histories import Story, budget, react_history
from thimble.agent.errors import BudgetError
from thimble.commands.replay import call_lengths, replay_strategy
from thimble.strategies.none import NoManagement
from thimble.strategies.truncate import Truncate


def test_a_reply_tells_of_a_call_but_for_one_before_which_nothing_was_sent() -> None:
    assert call_lengths(Story(None).turn(9).ask("?").turn(9, 9).answer("!").messages) == [3, 6, 7]


def test_there_is_a_view_for_each_call_and_for_the_next() -> None:
    history = react_history(5)
    found = [*replay_strategy(history, NoManagement(), budget())]
    assert len(found) == len(call_lengths(history)) == 6
    assert [len(call.view.messages) for call in found if call.view] == call_lengths(history)


def test_where_the_budget_cannot_hold_a_call_its_error_stands_and_the_next_is_asked() -> None:
    history = Story().ask("Why?").answer("So.").ask("word " * 9_000).answer("!").ask("And?").messages
    found = [*replay_strategy(history, Truncate(), budget(2_000))]
    assert [call.view is None for call in found] == [False, True, False]
    assert isinstance(found[1].error, BudgetError)
