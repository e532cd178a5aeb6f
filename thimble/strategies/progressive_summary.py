"""progressive-summary: one running summary that absorbs the oldest turns, a piece at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from thimble.agent.budget import Budget
from thimble.agent.messages import Message
from thimble.agent.side import SideModel
from thimble.strategies.parameter import parameter
from thimble.strategies.state import Stateful
from thimble.strategies.summary import Folded, Folding, before_newest


@dataclass
class Pieces(Folded):
    """The running memory, and whether the last call was interrupted while folding."""

    folding: bool = False


@dataclass
class ProgressiveSummary(Stateful):
    """Fold the oldest turns into one running memory, a few at a time. Calls are short but many, and facts get lost.

    Over the budget, memory_i = f(memory_{i-1}, piece_i), where a piece is the `piece` oldest turns left, until the view
    is down to `target` of the budget. Each call gets the memory and one piece, however long the history is. After an
    interruption, folded turns stay folded, and the rest follows at the next call (Wang et al., Recursively Summarizing
    Enables Long-Term Dialogue Memory, 2023, arXiv 2308.15022).
    """

    model: SideModel
    piece: int = parameter(5, "turns folded by one call", 1)
    tail: int = parameter(2, "newest turns that stay word for word at least")
    target: float = parameter(0.35, "share of the budget to come down to when over it", 0.1, 1)
    words: int = parameter(400, "length asked of the memory", 20, 10_000)
    memory: Pieces = field(default_factory=Pieces)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The history with its oldest turns folded; see the class."""
        folding = Folding(self.model, self.words, self.memory)
        view = folding.view(messages)
        self.memory.folding = self.memory.folding or budget.over(view)
        while self.memory.folding and (size := budget.size(view)) > self.target * budget.limit:
            why = f"the view was {size:,} of {budget.limit:,} tokens: folded piece by piece down to {self.target:.0%}"
            since = folding.turns_since(messages)
            upto = before_newest(max(self.tail, len(since) - self.piece), since, messages)
            if len(since) <= self.tail or not folding.fold(messages, upto, budget, why):
                break
            view = folding.view(messages)
        self.memory.folding = False
        return view
