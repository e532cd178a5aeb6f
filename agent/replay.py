"""Replay: the views that a session would have sent under a strategy, had it been in use from the start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from agent.budget import Budget
from agent.errors import BudgetError
from agent.history import History
from agent.messages import Message
from agent.protocols import Strategy
from agent.view import View, prepare


def calls(history: Sequence[Message]) -> list[int]:
    """How long the history was at each model call that it tells of, and at the one that comes next."""
    return [*(at for at, message in enumerate(history) if message.role == "assistant" and at), len(history)]


def replay(history: Sequence[Message], strategy: Strategy, budget: Budget) -> Iterator[View | BudgetError]:
    """The view of each of these calls, the next one's last; in its place the error where the budget cannot hold it.

    The strategy is asked at every call in turn: what it does may rest on what it did.
    """
    before: View | None = None
    so_far = History()
    for until in calls(history):
        so_far = so_far.plus(*history[len(so_far) : until])
        try:
            before = prepare(so_far, strategy, budget, before)
        except BudgetError as error:
            yield error
        else:
            yield before
