"""llm-summary: the running summary of The Complexity Trap, by its turn counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from agent.budget import Budget
from agent.messages import Message
from agent.side import SideModel
from strategies.parameter import parameter
from strategies.state import Stateful
from strategies.summary import SECTIONS, Folded, Folding


@dataclass
class LLMSummary(Stateful):
    """Fold N old turns at a time into a running summary, keep the newest M. The prompt stays small; folds cost calls.

    In turn t, when N + M turns have gathered since the last summary, a new one covers the old one and all turns up to
    t_last = t - 1 - M; the model gets the summary and T_{t-M}, …, T_{t-1} (The Complexity Trap, Eq. 5 and 6; N is
    `every`, M is `tail`). The budget does not matter.
    """

    model: SideModel
    every: int = parameter(21, "turns folded at a time, once as many are older than the tail (N)", 1)
    tail: int = parameter(10, "newest turns that a summary leaves word for word (M)", 1)
    words: int = parameter(400, "length asked of the summary", 20, 10_000)
    memory: Folded = field(default_factory=Folded)
    sections = SECTIONS

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The history with its old turns summarised; see the class."""
        folding = Folding(self.model, self.words, self.memory, self.sections)
        since = folding.since(messages)
        if len(since) >= self.every + self.tail:
            why = f"{len(since)} turns had gathered, and all but the {self.tail} newest are folded"
            folding.fold(messages, since[-self.tail].start, budget, why)
        return folding.view(messages)
