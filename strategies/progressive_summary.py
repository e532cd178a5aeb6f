"""progressive-summary: one running memory that takes in the oldest turns a piece at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.budget import Budget
from agent.messages import Message
from agent.protocols import Strategy
from agent.side import SideModel
from strategies.parameter import parameter
from strategies.summary import Memory


@dataclass
class ProgressiveSummary(Strategy):
    """Fold the oldest turns into one running memory, a few at a time. Short calls, but more, and facts fade.

    Over the budget, memory_i = f(memory_{i-1}, piece_i), where a piece is the `piece` oldest turns left, until the view
    is down to `target` of the budget. Each call is sent the memory and one piece, however long the history is. What was
    folded before an interruption stays folded, and the rest follows at the next call (Wang et al., Recursively
    Summarizing Enables Long-Term Dialogue Memory, 2023, arXiv 2308.15022).
    """

    model: SideModel
    piece: int = parameter(5, "turns folded by one call", 1)
    tail: int = parameter(2, "newest turns that stay word for word at least", 1)
    target: float = parameter(0.35, "share of the budget to come down to when over it", 0.1, 1)
    words: int = parameter(400, "length asked of the memory", 20, 10_000)
    state: dict[str, Any] = field(default_factory=dict)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The history with its oldest turns folded; see the class."""
        memory = Memory(self.model, self.words, self.state)
        view = memory.view(messages)
        folding = self.state["folding"] = self.state.get("folding", False) or budget.over(view)
        while folding and (size := budget.size(view)) > self.target * budget.limit:
            why = f"the view was {size:,} of {budget.limit:,} tokens: folded piece by piece down to {self.target:.0%}"
            since = memory.since(messages)[: -self.tail]
            behind = since[self.piece :] or memory.since(messages)[-self.tail :]
            if not since or not memory.fold(messages, behind[0].start, budget, why):
                break
            view = memory.view(messages)
        self.state["folding"] = False
        return view
