"""summary-buffer: a running summary of the old, the newest turns word for word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.budget import Budget
from agent.messages import Message, turns
from agent.side import SideModel
from strategies.parameter import parameter
from strategies.summary import summarise, with_summary


@dataclass
class SummaryBuffer:
    """Let a model summarise the old part, keep the newest turns word for word. Costs a call; a vague summary loses.

    Over the budget, everything but the newest `buffer` turns, the task and the current question is folded into one
    running summary. A summary that fails changes nothing, and is tried again after as many turns as `buffer` holds.
    """

    model: SideModel
    buffer: int = parameter(2, "newest turns kept word for word", 1)
    words: int = parameter(250, "length asked of the summary", 20, 10_000)
    state: dict[str, Any] = field(default_factory=dict)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The history with its old part summarised; see the class."""
        view = with_summary(messages, self.state)
        groups = turns(messages)
        if budget.over(view) and len(groups) > self.buffer:
            keep = len(messages) - groups[-self.buffer].start
            if summarise(messages, keep, self.words, self.model, self.state, budget):
                return with_summary(messages, self.state)
        return view
