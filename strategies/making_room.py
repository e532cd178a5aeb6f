"""Making room: how many observations go at once when a view is over the budget, and by which rule."""

from __future__ import annotations

from collections.abc import Iterable

from agent.budget import Budget
from strategies.rewriting import Offer

Step = tuple[float, str, Iterable[Offer]]
"""A goal in tokens, the rule by which an observation goes, and the observations that may go."""


def aged(window: int) -> str:
    """The rule of a window of so many turns, in words."""
    if window < 2:
        return "older than the newest turn" if window else "no turn stays whole"
    return f"older than the {window} newest turns"


def by_age(
    size: int, budget: Budget, target: float, done: str, old: list[Offer], recent: list[Offer]
) -> dict[str, str]:
    """Why an observation goes from a view of `size` tokens, by id, for those that go.

    The old ones go until `target` of the budget is reached, which `done` says in words; where all of them are not
    enough, the recent ones go until the view fits.
    """
    over = f"the view was {size:,} of {budget.limit:,} tokens"
    done = f"{done} down to {target:.0%} of the budget; {over}"
    late = f"{over}, and to hide every older result was not enough"
    return enough(size, budget, (target * budget.limit, done, old), (budget.limit, late, recent))


def enough(size: int, budget: Budget, *steps: Step) -> dict[str, str]:
    """What goes from a view of `size` tokens, by id with the rule: in each step, in order, until its goal is reached.

    Where all of them together cannot make the view fit (`fit` will drop turns then), they wait until they save a
    quarter of the budget: rare edits, and then enough.
    """
    chosen, left = {}, size
    for goal, why, offers in steps:
        for _, message, saved in offers:
            if left <= goal:
                break
            chosen[message.id] = why
            left -= saved
    worth = left <= budget.limit or size - left >= budget.limit / 4
    return chosen if worth else {}
