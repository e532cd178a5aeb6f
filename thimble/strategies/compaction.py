"""compaction: near the limit, everything except the current exchange becomes one summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from thimble.agent.budget import Budget
from thimble.agent.messages import Message, turns
from thimble.agent.side import SideModel
from thimble.agent.turns import question
from thimble.strategies.parameter import parameter
from thimble.strategies.state import Stateful
from thimble.strategies.summary import Folded, Folding, before_newest


@dataclass
class Compaction(Stateful):
    """Replace everything except the current exchange by one summary. Frees much room with one call.

    At `at` of the budget, the summary replaces everything before the current question, the user's words too; the first
    task stays. When the exchange itself is most of the view, its turns go too, except the newest `tail` (as Claude Code
    does; Anthropic, Effective context engineering for AI agents, 2025).
    """

    model: SideModel
    when: Literal["full", "asked"] = parameter("full", "fold near the limit, or by /compact alone")
    at: float = parameter(0.8, "share of the budget at which everything is folded", 0.3, 1)
    tail: int = parameter(2, "newest turns that stay when the current exchange is itself too long")
    words: int = parameter(400, "length asked of the summary", 20, 10_000)
    memory: Folded = field(default_factory=Folded)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The history with a summary in place of everything except its newest part; see the class."""
        folding = Folding(self.model, self.words, self.memory, own_words=0)
        view = folding.view(messages)
        while self.when == "full" and (size := budget.size(view)) > self.at * budget.limit:
            why = f"the view was {size:,} tokens, more than {self.at:.0%} of {budget.limit:,}"
            if not folding.fold(messages, self._upto(view, messages, budget), budget, why):
                break
            view = folding.view(messages)
        return view

    def _upto(self, view: Sequence[Message], messages: Sequence[Message], budget: Budget) -> int:
        """The end of the summary: the current question, or the newest turns if its exchange is long."""
        asked = question(messages)
        upto = messages.index(asked) if asked else 0
        exchange = view[view.index(asked) if asked else 0 :]
        if sum(map(budget.count, exchange)) > budget.size(view) / 2:
            return max(upto, before_newest(self.tail, turns(messages), messages))
        return upto
