"""observation-masking: old observations give way to a line each; the agent's own words all stay."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Literal

from agent.budget import Budget
from agent.messages import Message, turns
from agent.protocols import Strategy
from strategies.making_room import aged, enough, observations, rules
from strategies.parameter import parameter


@dataclass
class ObservationMasking(Strategy):
    """Hide old observations behind one line each, keep all reasoning and calls. Most of a turn is observation.

    Every edit makes the server compute again what lies behind it. So nothing is touched while all fits; over the
    budget, the oldest observations are masked until `target` of it is reached, and then the prefix stays as it is
    until the budget is passed again.

    `when=always` is the paper's rule at every call, whatever the budget: in turn t, observation i is masked if
    i < t - window (The Complexity Trap, Eq. 3 and 4). With `every`, as many turns as that are masked, rounded down to
    a multiple of it, so that the prefix is edited once in so many calls (what SWE-agent calls polling).
    """

    window: int = parameter(2, "newest turns whose observations stay")
    when: Literal["over", "always"] = parameter("over", "mask when over the budget, or at every call as the paper does")
    target: float = parameter(0.4, "share of the budget to come down to when over it", 0.1, 1)
    every: int = parameter(1, "with when=always: turns masked at a time, so that one call in so many is an edit", 1)
    state: dict[str, Any] = field(default_factory=dict)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The history with its masked observations; see the class."""
        groups = turns(messages)
        split = max(0, len(groups) - self.window)
        if self.when == "always":
            why = aged(self.window)
            smaller = savings(observations(messages, groups[: split - split % self.every]), budget)
            return with_masks(messages, {message.id: why for message, _ in smaller})
        masked = self.state.setdefault("masked", {})
        view = with_masks(messages, masked)
        size = budget.size(view)
        if size > budget.limit:
            old, recent = groups[: min(split, len(groups) - 1)], groups[split:-1]
            older, newer = observations(view, old), observations(view, recent)
            down_to_target = self.target * budget.limit, savings(older, budget)
            only_to_fit = budget.limit, savings(newer, budget)
            done = f"{aged(self.window)}, masked down to {self.target:.0%} of the budget"
            whys = rules(size, budget, older, newer, done)
            masked.update(
                (message.id, whys[message.id]) for message in enough(size, budget, down_to_target, only_to_fit)
            )
            view = with_masks(messages, masked)
        return view


def with_masks(messages: Sequence[Message], masked: Mapping[str, str]) -> list[Message]:
    """The messages, with a mask over each that `masked` names, for the reason that it gives."""
    return [mask(message, masked[message.id]) if message.id in masked else message for message in messages]


def savings(candidates: Sequence[Message], budget: Budget) -> Iterator[tuple[Message, int]]:
    """The observations that a mask would make smaller, each with the tokens that it saves."""
    cost = {message.name: budget.count(mask(message, "")) for message in {m.name: m for m in candidates}.values()}
    for message in candidates:
        saved = budget.count(message) - cost[message.name]
        if saved > 0:
            yield message, saved


@lru_cache(maxsize=8192)
def mask(message: Message, why: str) -> Message:
    """A copy that says only whose result stood here."""
    return message.rewritten(f"[masked: an old result of {message.name}; call it again if you need it]", why)
