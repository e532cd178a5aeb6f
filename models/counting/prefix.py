"""What a server with a prefix cache would report: for the backends that have no server behind them."""

from __future__ import annotations

from collections.abc import Sequence

from agent.budget import Counter
from agent.messages import Message, Schema, common_prefix
from agent.protocols import Usage


class PrefixMeter:
    """Accounts for replies as a server with room for one cached prompt does."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._messages: Sequence[Message] = ()
        self._tools: Sequence[Schema] = ()
        self._replies = 0

    def usage(self, messages: Sequence[Message], tools: Sequence[Schema], output_text: str) -> Usage:
        """Usage of one reply, in tokens; the prompt is remembered as the one that is cached from now on.

        Cached are the messages before the first that differs from the prompt before, and the tools with them. At
        least one token is computed anew, as servers do to have something to predict from.
        """
        overhead = self._counter.overhead(tools)
        prompt = overhead + sum(map(self._counter.count, messages))
        same = common_prefix(messages, self._messages) if tuple(tools) == self._tools else 0
        cached = overhead + sum(map(self._counter.count, messages[:same])) if same else 0
        self._messages, self._tools = tuple(messages), tuple(tools)
        return Usage(
            prompt_tokens=prompt,
            cached_tokens=min(cached, prompt - 1),
            output_tokens=self._written(output_text),
            finish="stop",
        )

    def _written(self, text: str) -> int:
        """Tokens of a reply without the markers around it."""
        self._replies += 1
        marker = f"reply-{self._replies}"
        return self._counter.count(Message(marker, "assistant", text)) - self._counter.count(
            Message(marker, "assistant")
        )
