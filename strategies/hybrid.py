"""hybrid: mask first, summarise last."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.budget import Budget
from agent.messages import Message, turns
from agent.side import SideModel
from strategies.observation_masking import ObservationMasking
from strategies.parameter import parameter
from strategies.summary import summarise, with_summary


@dataclass
class Hybrid:
    """Mask old observations first, and only after many turns summarise. Masks are free, the summary bounds the rest.

    When `summarise_at` turns have gathered behind the newest `tail`, or masks alone cannot keep to the budget, they are
    folded into a summary; the summariser reads the unmasked observations. The paper's setting is W = window=10,
    N = summarise_at=43, M = tail=10: a summary is due N + M turns after the last (The Complexity Trap, section 3.1).
    """

    model: SideModel
    window: int | None = parameter(None, "turns left unmasked at every call; unset: mask only when over the budget")
    summarise_at: int = parameter(20, "turns folded at a time, once as many are older than the tail", 1)
    tail: int = parameter(4, "newest turns that a summary leaves word for word", 1)
    words: int = parameter(250, "length asked of the summary", 20, 10_000)
    state: dict[str, Any] = field(default_factory=dict)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The history masked, with its oldest part summarised; see the class."""
        groups = turns(messages)
        covers = set(self.state.get("covers", ()))
        fresh = sum(messages[turn.start].id not in covers for turn in groups)
        view = self._masked(messages, budget)
        due = fresh >= self.summarise_at + self.tail or budget.over(view)
        if due and fresh > self.tail:
            keep = len(messages) - groups[-self.tail].start
            if summarise(messages, keep, self.words, self.model, self.state, budget):
                return self._masked(messages, budget)
        return view

    def _masked(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        masking = ObservationMasking() if self.window is None else ObservationMasking(self.window, "always")
        masking.state = self.state
        return masking.prepare(with_summary(messages, self.state), budget)
