"""truncate: the newest messages that fit, and nothing before them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from agent.budget import Budget
from agent.history import pinned
from agent.messages import Message, blocks


@dataclass
class Truncate:
    """Keep the newest messages that fit, forget all before them. Once full, nearly every call is computed anew.

    Nothing to tune and nothing remembered: the cut moves forward at every call that is over the budget, so the prompt
    differs right behind the task and a server's cache is of no use. The task, the question and whole turns stay, since
    no server takes less. Naive truncation, the first of the ten ways that the agent-patterns demo lists.
    """

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        """What is pinned and as many of the newest blocks as fit, the newest in any case; see the class."""
        stays = {message.id for message in pinned(messages)}
        left = budget.limit - budget.size(message for message in messages if message.id in stays)
        start = len(messages)
        for block in reversed(blocks(messages)):
            left -= sum(budget.count(messages[index]) for index in block if messages[index].id not in stays)
            if left < 0 and start < len(messages):
                break
            start = block.start
        self._rule = (
            f"older than the newest messages that {budget.limit:,} tokens hold, which are {len(messages) - start}"
        )
        return [message for index, message in enumerate(messages) if index >= start or message.id in stays]

    def why(self, message: Message) -> str:
        """The rule by which the newest view leaves a message out."""
        return self._rule
