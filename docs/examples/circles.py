"""Summarise when the agent goes in circles, as The Complexity Trap (section 7) proposes for further work."""

from dataclasses import dataclass

from thimble.strategies.llm_summary import LLMSummary
from thimble.strategies.parameter import parameter
from thimble.strategies.summary import Folding


@dataclass
class Circles(LLMSummary):
    """Do as llm-summary does, and fold all except the newest turn once its call was made `times` times."""

    times: int = parameter(3, "how often the same call is made, since the last summary, in a loop", 2)

    def prepare(self, messages, budget):
        """The history with its old turns summarised; see the class."""
        folding = Folding(self.model, self.words, self.memory, self.sections)
        acts = [turn for turn in folding.turns_since(messages) if messages[turn.start].calls]
        made = [[(call.name, call.arguments) for call in messages[turn.start].calls] for turn in acts]
        if made and made.count(made[-1]) >= self.times:
            folding.fold(messages, acts[-1].start, budget, f"the newest call was made {self.times} times")
        return super().prepare(messages, budget)
