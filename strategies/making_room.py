"""Making room: which observations may go, and how many of them go at once when a view is over the budget."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent.budget import Budget
from agent.messages import Message


def observations(messages: Sequence[Message], groups: Sequence[range]) -> list[Message]:
    """The results of these turns, but for a turn that still waits for one."""
    whole = (turn for turn in groups if len(turn) > len(messages[turn.start].calls))
    return [messages[index] for turn in whole for index in turn[1:]]


def aged(window: int) -> str:
    """The rule of a window of so many turns, in words."""
    if window < 2:
        return "older than the newest turn" if window else "no turn stays whole"
    return f"older than the {window} newest turns"


def rules(size: int, budget: Budget, old: Iterable[Message], recent: Iterable[Message], done: str) -> dict[str, str]:
    """By id why an observation goes from a view of `size` tokens; `done` says of the old ones how far that went."""
    over = f"the view was {size:,} of {budget.limit:,} tokens"
    late = f"{over}, and to hide every older result was not enough"
    return dict.fromkeys((m.id for m in old), f"{done}; {over}") | dict.fromkeys((m.id for m in recent), late)


def enough(size: int, budget: Budget, *steps: tuple[float, Iterable[tuple[Message, int]]]) -> list[Message]:
    """Who goes from a view of `size` tokens: in each step, in order, until the step's goal in tokens is reached.

    A step offers messages, each with the tokens that it saves. Where all of them together cannot make the view fit
    (`fit` will drop turns then), they wait until they save a quarter of the budget: rare edits, and then enough.
    """
    chosen, left = [], size
    for goal, offers in steps:
        for message, saved in offers:
            if left <= goal:
                break
            chosen.append(message)
            left -= saved
    worth = left <= budget.limit or size - left >= budget.limit / 4
    return chosen if worth else []
