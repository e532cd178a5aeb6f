"""none: the whole history, every time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thimble.agent.budget import Budget
from thimble.agent.messages import Message
from thimble.agent.protocols import Strategy


@dataclass
class NoManagement(Strategy):
    """Send everything, always. The prompt grows with every turn until it is over the budget: that is the lesson.

    The raw agent of The Complexity Trap (Eq. 1).
    """

    fitted = False

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The history itself, whatever it costs."""
        return [*messages]
