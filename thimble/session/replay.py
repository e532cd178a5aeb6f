"""Replay: the views of a session as if a strategy had been in use from the start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from thimble.agent.budget import Budget
from thimble.agent.errors import BudgetError
from thimble.agent.messages import Message
from thimble.agent.protocols import Strategy
from thimble.agent.view import View, prepare


def calls(history: Sequence[Message]) -> list[int]:
    """The length of the history at each of its model calls, and at the next one."""
    return [*(at for at, message in enumerate(history) if message.role == "assistant" and at), len(history)]


def replay(history: Sequence[Message], strategy: Strategy, budget: Budget) -> Iterator[View | BudgetError]:
    """The view of each of these calls, in order; or the error if the budget cannot hold it.

    The strategy runs at every call in order, since each edit may depend on earlier ones.
    """
    before: View | None = None
    for until in calls(history):
        try:
            before = prepare(history[:until], strategy, budget, before)
        except BudgetError as error:
            yield error
        else:
            yield before
