"""compaction: near the limit, everything but the exchange under way becomes one summary."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.budget import Budget
from agent.history import question
from agent.messages import Message, turns
from agent.side import SideModel
from strategies.parameter import parameter
from strategies.state import Stateful
from strategies.summary import Folded, Folding


@dataclass
class Compaction(Stateful):
    """Shortly before the limit, put one summary in place of all but the exchange under way. Much room for one call.

    At `at` of the budget everything before the current question goes, the user's words too; the first task stays. When
    the exchange itself is most of the view, its turns go as well, all but the newest `tail` (as Claude Code compacts;
    Anthropic, Effective context engineering for AI agents, 2025).
    """

    model: SideModel
    at: float = parameter(0.8, "share of the budget at which everything is folded", 0.3, 1)
    tail: int = parameter(2, "newest turns that stay of an exchange that is itself too long", 1)
    words: int = parameter(400, "length asked of the summary", 20, 10_000)
    memory: Folded = field(default_factory=Folded)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The history with all but its newest part in a summary; see the class."""
        folding = Folding(self.model, self.words, self.memory, own_words=0)
        view = folding.view(messages)
        while (size := budget.size(view)) > self.at * budget.limit:
            why = f"the view was {size:,} tokens, more than {self.at:.0%} of {budget.limit:,}"
            if not folding.fold(messages, self._upto(view, messages, budget), budget, why):
                break
            view = folding.view(messages)
        return view

    def _upto(self, view: Sequence[Message], messages: Sequence[Message], budget: Budget) -> int:
        """Up to which message all goes: the current question, or the newest turns where its exchange is most of it."""
        asked = question(messages)
        upto = messages.index(asked) if asked else 0
        exchange = view[view.index(asked) if asked else 0 :]
        newest = turns(messages)[-self.tail :]
        if newest and sum(map(budget.count, exchange)) > budget.size(view) / 2:
            return max(upto, newest[0].start)
        return upto
