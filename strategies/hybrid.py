"""hybrid: mask first, summarise last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from agent.budget import Budget
from agent.messages import Message
from agent.side import SideModel
from strategies.observation_masking import Masks, ObservationMasking
from strategies.parameter import parameter
from strategies.state import Stateful
from strategies.summary import Folded, Folding, newest

SHARE = 0.4
"""Share of the budget for the newest turns when masks alone are not enough."""


@dataclass
class MasksAndSummary(Masks, Folded):
    """The masks and the summary."""


@dataclass
class Hybrid(Stateful):
    """Mask old observations, and summarise only after many turns. Masks need no model; a summary limits the rest.

    The masks are those of observation-masking with W = `window`. When N + M turns have gathered since the last summary,
    a new one replaces all except the newest M turns, and reads their observations unmasked (The Complexity Trap,
    section 3.1; its hybrid has W = 10, N = `every` = 43 and M = `tail` = 10). If the masked view is still over the
    budget, it is summarised earlier. With `when=over`, observations are masked only when the view is over the budget.
    """

    model: SideModel
    window: int = parameter(10, "newest turns whose observations stay (W)")
    when: Literal["always", "over"] = parameter("always", "mask at every call, or only when over the budget")
    every: int = parameter(43, "turns folded at a time, once as many are older than the tail (N)", 1)
    tail: int = parameter(10, "newest turns that a summary leaves word for word (M)", 1)
    words: int = parameter(400, "length asked of the summary", 20, 10_000)
    memory: MasksAndSummary = field(default_factory=MasksAndSummary)
    _masking: ObservationMasking = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        self._masking = ObservationMasking(window=self.window, when=self.when)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> Sequence[Message]:
        """The history masked, with its oldest part summarised; see the class."""
        folding = Folding(self.model, self.words, self.memory)
        since = folding.since(messages)
        if len(since) >= self.every + self.tail:
            why = f"{len(since)} turns had gathered, and all but the {self.tail} newest are folded"
            folding.fold(messages, since[-self.tail].start, budget, why)
        view = self._masked(folding.view(messages), budget)
        if not budget.over(view):
            return view
        kept = {message.id for message in view[newest(view, 1, SHARE * budget.limit, budget) :]}
        upto = next((index for index, message in enumerate(messages) if message.id in kept), 0)
        why = f"the view was {budget.size(view):,} of {budget.limit:,} tokens although masked"
        return self._masked(folding.view(messages), budget) if folding.fold(messages, upto, budget, why) else view

    def _masked(self, messages: Sequence[Message], budget: Budget) -> Sequence[Message]:
        self._masking.memory = self.memory
        return self._masking.prepare(messages, budget)
