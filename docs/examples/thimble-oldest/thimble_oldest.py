"""A strategy to install: `--strategy oldest`."""

from dataclasses import dataclass

from thimble.agent.messages import turns
from thimble.strategies.parameter import parameter


@dataclass
class Oldest:
    """Drop the oldest turns until the view fits. What they said is lost."""

    keep: int = parameter(2, "newest turns that stay in any case", least=1)

    def prepare(self, messages, budget):
        """The messages without the oldest turns."""
        view = list(messages)
        while budget.over(view) and len(turns(view)) > self.keep:
            oldest = turns(view)[0]
            del view[oldest.start : oldest.stop]
        return view
