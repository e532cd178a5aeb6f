"""observation-masking: old observations give way to a line each; the agent's own words all stay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from agent.budget import Budget
from agent.messages import Message, turns
from strategies.parameter import parameter


@dataclass
class ObservationMasking:
    """Hide old observations behind one line each, keep all reasoning and calls. Most of a turn is observation.

    Every edit makes the server compute again what lies behind it. So nothing is touched while all fits; over the
    budget, the oldest observations are masked until `target` of it is reached, and then the prefix stays as it is
    until the budget is passed again.

    `when=always` is the paper's rule at every call, whatever the budget: in turn t, observation i is masked if
    i < t - window (The Complexity Trap, Eq. 3 and 4).
    """

    window: int = parameter(2, "newest turns whose observations stay")
    when: Literal["over", "always"] = parameter("over", "mask when over the budget, or at every call as the paper does")
    target: float = parameter(0.4, "share of the budget to come down to when over it", 0.1, 1)
    state: dict[str, Any] = field(default_factory=dict)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The history with its masked observations; see the class."""
        groups = turns(messages)
        split = max(0, len(groups) - self.window)
        if self.when == "always":
            why = f"older than the {self.window} newest turns"
            smaller = _savings(_observations(messages, groups[:split]), budget)
            return _view(messages, {message.id: why for message, _ in smaller})
        masked = self.state.setdefault("masked", {})
        view = _view(messages, masked)
        size = budget.size(view)
        if size > budget.limit:
            old, recent = groups[: min(split, len(groups) - 1)], groups[split:-1]
            masked.update(self._choose(_observations(view, old), _observations(view, recent), size, budget))
            view = _view(messages, masked)
        return view

    def _choose(self, old: Sequence[Message], recent: Sequence[Message], size: int, budget: Budget) -> dict[str, str]:
        """What to mask now: old observations down to the target, recent ones only down to the budget.

        Where all masks together cannot make the view fit (`fit` will drop turns then), they wait until they save a
        quarter of the budget: rare edits, and then enough.
        """
        why = f"the view was {size:,} of {budget.limit:,} tokens; the {self.window} newest turns stay"
        chosen: dict[str, str] = {}
        left = size
        for goal, observations in ((self.target * budget.limit, old), (budget.limit, recent)):
            for message, saved in _savings(observations, budget):
                if left <= goal:
                    break
                chosen[message.id] = why
                left -= saved
        worth = left <= budget.limit or size - left >= budget.limit / 4
        return chosen if worth else {}


def _observations(messages: Sequence[Message], groups: Sequence[range]) -> list[Message]:
    """The results of these turns, but for a turn that still waits for one."""
    whole = (turn for turn in groups if len(turn) > len(messages[turn.start].calls))
    return [messages[index] for turn in whole for index in turn[1:]]


def _view(messages: Sequence[Message], masked: Mapping[str, str]) -> list[Message]:
    return [mask(message, masked[message.id]) if message.id in masked else message for message in messages]


def _savings(observations: Sequence[Message], budget: Budget) -> Iterator[tuple[Message, int]]:
    """The observations that a mask would make smaller, each with the tokens that it saves."""
    cost = {message.name: budget.count(mask(message, "")) for message in {m.name: m for m in observations}.values()}
    for message in observations:
        saved = budget.count(message) - cost[message.name]
        if saved > 0:
            yield message, saved


@lru_cache(maxsize=8192)
def mask(message: Message, why: str) -> Message:
    """A copy that says only whose result stood here."""
    return message.rewritten(f"[masked: an old result of {message.name}; call it again if you need it]", why)
