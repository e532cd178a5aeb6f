"""Making room: which observations go when a view is over the budget, how many at once, and by which rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from thimble.agent.budget import Budget
from thimble.agent.messages import Message
from thimble.strategies.newest import newest_turns_start

Offer = tuple[Message, int]
"""An observation that a copy may replace, and the tokens that this saves."""
Step = tuple[float, str, Iterable[Offer]]
"""A goal in tokens, the rule in words, and the observations that may go."""


def list_offers(view: Sequence[Message], copy: Callable[[Message], Message], budget: Budget) -> list[Offer]:
    """The observations that have a smaller copy, oldest first."""
    copies = [(one, other) for one in view if one.role == "tool" and (other := copy(one)) is not one]
    return [(one, saved) for one, other in copies if (saved := budget.count(one) - budget.count(other)) > 0]


def window_reason(window: int) -> str:
    """The rule of a window of `window` turns, in words."""
    if window < 2:
        return "older than the newest turn" if window else "no turn stays whole"
    return f"older than the {window} newest turns"


def choose_by_age(
    view: Sequence[Message],
    copy: Callable[[Message], Message],
    budget: Budget,
    target: float,
    window: int,
    done: str,
) -> dict[str, str]:
    """The observations that go from a view over the budget: the reason for each, by id.

    Those older than the `window` newest turns go until the view is down to `target` of the budget; `done` is the
    word for it, such as `masked`. If all of them are not enough, recent ones go until the view fits.
    """
    size = budget.size(view)
    if size <= budget.limit:
        return {}
    old = list_offers(view[: newest_turns_start(view, max(1, window))], copy, budget)
    recent = list_offers(view[newest_turns_start(view, window) : newest_turns_start(view, 1)], copy, budget)
    over = f"the view was {size:,} of {budget.limit:,} tokens"
    left, why = size - sum(saved for _, saved in old), f"{window_reason(window)}, {done}"
    if left <= target * budget.limit:
        why += f" down to {target:.0%} of the budget; {over}"
    elif left <= budget.limit:
        stay = f"the {window} newest turns stay" if window > 1 else "the newest turn stays"
        why += f"; {over}; wanted {target:.0%} of the budget, reached {left / budget.limit:.0%}: {stay}"
    else:
        why += f"; {over}"
    late = f"{over}, and to hide every older result was not enough"
    return pick_until_goal(size, budget, (target * budget.limit, why, old), (budget.limit, late, recent))


def pick_until_goal(size: int, budget: Budget, *steps: Step) -> dict[str, str]:
    """The observations that go from a view of `size` tokens, by id with the rule: step by step, each until its goal.

    If all of them together cannot make the view fit (`fit` will then drop turns), they wait until they save a quarter
    of the budget: few edits, each of them large.
    """
    chosen, left = {}, size
    for goal, why, may_go in steps:
        for message, saved in may_go:
            if left <= goal:
                break
            chosen[message.id] = why
            left -= saved
    worth = left <= budget.limit or size - left >= budget.limit / 4
    return chosen if worth else {}
