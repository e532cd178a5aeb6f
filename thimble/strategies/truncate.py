"""truncate: the newest messages that fit, and nothing before them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from thimble.agent.budget import Budget
from thimble.agent.messages import Message, blocks
from thimble.agent.protocols import Strategy
from thimble.agent.turns import pinned
from thimble.strategies.newest import keep_since


@dataclass
class Truncate(Strategy):
    """Keep the newest messages that fit, forget all before them. Once full, nearly every prompt is recomputed.

    It has no parameter and no memory. The cut moves forward at every call over the budget, so the prompt changes right
    after the task and a server's cache does not help. The task, the question and whole turns stay, since a server needs
    them. Naive truncation is the first of the ten strategies in the agent-patterns demo.
    """

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """The pinned messages and as many of the newest blocks as fit, at least the newest; see the class."""
        stays = {message.id: message for message in pinned(messages)}
        left, start = budget.limit - budget.size(stays.values()), len(messages)
        for block in reversed(blocks(messages)):
            left -= sum(budget.count(one) for one in messages[block.start : block.stop] if one.id not in stays)
            if left < 0 and start < len(messages):
                break
            start = block.start
        self._rule = (
            f"older than the newest messages that {budget.limit:,} tokens hold, which are {len(messages) - start}"
        )
        return keep_since(messages, start, stays)

    def why(self, message: Message) -> str:
        """The rule by which the newest view leaves a message out."""
        return self._rule
