"""observation-masking: old observations give way to a line each; the agent's own words all stay."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from agent.budget import Budget
from agent.history import History
from agent.messages import Message, pending
from strategies.making_room import aged, by_age
from strategies.parameter import parameter
from strategies.rewriting import Rewriting
from strategies.state import Stateful


@lru_cache(maxsize=8192)
def mask(message: Message, why: str = "") -> Message:
    """A copy that says only whose result stood here."""
    return message.rewritten(f"[masked: an old result of {message.name}; call it again if you need it]", why)


def with_masks(messages: Sequence[Message], masked: Mapping[str, str]) -> list[Message]:
    """The messages, with a mask over each that `masked` names, for the reason that it gives."""
    return [mask(message, masked[message.id]) if message.id in masked else message for message in messages]


@dataclass
class Masks:
    """By id why an observation is masked."""

    masked: dict[str, str] = field(default_factory=dict)


@dataclass
class ObservationMasking(Stateful):
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
    memory: Masks = field(default_factory=Masks)
    _view: Rewriting = field(default_factory=lambda: Rewriting(mask), init=False, repr=False, compare=False)
    _aged: dict[str, str] = field(default_factory=dict, init=False, repr=False, compare=False)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> Sequence[Message]:
        """The history with its masked observations; see the class."""
        history = History.of(messages)
        if self.when == "always":
            return self._by_age(history, budget)
        self._view.goes_on(history, budget, self.memory.masked, mask)
        size = budget.size(self._view.view)
        if size > budget.limit:
            old = self._view.offers(0, history.newest(max(1, self.window)))
            recent = self._view.offers(history.newest(self.window), history.newest(1))
            done = f"{aged(self.window)}, masked"
            self._view.choose(by_age(size, budget, self.target, done, old, recent))
        return self._view.view

    def _by_age(self, history: History, budget: Budget) -> History:
        """All old observations masked: nothing is remembered, since their age says it all."""
        if not self._view.goes_on(history, budget, self._aged, mask):
            self._aged = {}
            self._view.goes_on(history, budget, self._aged, mask)
        turns = history.turns
        old = max(0, len(turns) - self.window)
        old -= old % self.every
        end = turns[old] if old < len(turns) else len(history) - len(pending(history))
        self._view.choose(dict.fromkeys((one.id for _, one, _ in self._view.offers(0, end)), aged(self.window)))
        return self._view.view
