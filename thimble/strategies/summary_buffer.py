"""summary-buffer: a running summary of old turns, the newest turns word for word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from thimble.agent.budget import Budget
from thimble.agent.messages import Message
from thimble.agent.side import SideModel
from thimble.strategies.parameter import parameter
from thimble.strategies.state import Stateful
from thimble.strategies.summary import Folded, Folding, newest_that_fit


@dataclass
class SummaryBuffer(Stateful):
    """Summarise the old part, keep the newest turns word for word. Costs a call, and a vague summary loses facts.

    Over the budget, one running summary replaces everything except the task, the question and the newest turns: as many
    as fit into `target`, at least `buffer` (LangChain's summary buffer; with target=0, just `buffer`). It quotes the
    user's newest words.
    """

    model: SideModel
    buffer: int = parameter(2, "newest turns that stay word for word at least", 1)
    target: float = parameter(0.35, "share of the budget that the newest turns may keep", 0, 0.8)
    words: int = parameter(400, "length asked of the summary", 20, 10_000)
    memory: Folded = field(default_factory=Folded)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The history with its old part summarised; see the class."""
        folding = Folding(self.model, self.words, self.memory)
        size = budget.size(folding.view(messages))
        if size > budget.limit:
            start = newest_that_fit(messages, self.buffer, self.target * budget.limit, budget)
            why = f"the view was {size:,} of {budget.limit:,} tokens: folded down to {self.target:.0%}"
            folding.fold(messages, start, budget, why)
        return folding.view(messages)
