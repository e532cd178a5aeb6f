"""One interface for a conversation under a strategy, ours or a peer's: take new messages, then return the prompt.

Each works on messages in its own format and keeps its state between calls: edits of its history and annotations of its
messages stay. Converting messages is not timed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from thimble.agent.messages import Message

TARGET = 3_200
"""The target of a peer that has such a setting: two fifths of the budget, as for most of ours."""

Into = Callable[[Sequence[Message]], Iterable[Any]]
Out = Callable[[Any], Iterable[Message]]
Manage = Callable[[list[Any]], Awaitable[Sequence[Any]]]


@dataclass
class Session:
    """One conversation. `manage` may change its argument, which is the history from then on."""

    manage: Manage
    into: Into
    out: Out
    messages: list[Any] = field(default_factory=list)

    def hear(self, new: Sequence[Message]) -> None:
        """Add the new messages of the conversation."""
        self.messages.extend(self.into(new))

    async def call(self) -> Sequence[Any]:
        """The prompt of the next model call, in the format of the rival's package."""
        return await self.manage(self.messages)

    def read(self, view: Sequence[Any]) -> list[Message]:
        """The prompt as our messages."""
        return [message for one in view for message in self.out(one)]


@dataclass(frozen=True, slots=True)
class Entry:
    """A strategy with its settings, and how to start a conversation with it.

    `asks`: it calls a model. `counts`: it counts tokens, so that it can keep to a budget.
    """

    name: str
    start: Callable[[], Session]
    asks: bool = False
    counts: bool = True
