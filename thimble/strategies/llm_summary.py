"""llm-summary: the running summary of The Complexity Trap, by its turn counts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from thimble.agent.budget import Budget
from thimble.agent.messages import Message
from thimble.agent.side import SideModel
from thimble.strategies.paper import M, N, scale_turns
from thimble.strategies.parameter import parameter
from thimble.strategies.state import Stateful
from thimble.strategies.summary import SECTIONS, Folded, Folding


@dataclass
class LLMSummary(Stateful):
    """Fold N old turns at a time into a running summary, keep the newest M. The prompt stays small; folds cost calls.

    In turn t, when N + M turns have gathered since the last summary, a new one covers the old one and all turns up to
    t_last = t - 1 - M; the model gets the summary and T_{t-M}, …, T_{t-1} (The Complexity Trap, Eq. 5 and 6; N is
    `every`, M is `tail`). The budget scales N and M and does not matter otherwise. An answer without a tool call is not
    a turn.
    """

    model: SideModel
    every: int | None = parameter(None, "turns folded at a time (N); unset: as the budget allows", 1, paper=N)
    tail: int | None = parameter(None, "newest turns kept word for word (M); unset: as the budget allows", paper=M)
    words: int = parameter(400, "length asked of the summary", 20, 10_000)
    memory: Folded = field(default_factory=Folded)
    sections = SECTIONS

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The history with its old turns summarised; see the class."""
        folding = Folding(self.model, self.words, self.memory, self.sections)
        tail = scale_turns(self.tail, M, budget)
        folding.fold_by_turns(messages, scale_turns(self.every, N, budget) + tail, tail, budget)
        return folding.view(messages)
