"""One conversation under one strategy, ours or a peer's, behind one face: hear what is new, then say what to send.

Each works on messages of its own form and keeps its own state between calls: what it edits in its history stays
edited, what it notes on its messages stays noted. Turning messages into its form and back is not timed.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from thimble.agent.messages import Message

TARGET = 3_200
"""Tokens that a peer is told to come down to, where it can be told: as ours do, two fifths of the budget."""

Into = Callable[[Sequence[Message]], Iterable[Any]]
Out = Callable[[Any], Iterable[Message]]
Manage = Callable[[list[Any]], Awaitable[Sequence[Any]]]


@dataclass
class Session:
    """One conversation. `manage` may change the list that it is given, which is its history from then on."""

    manage: Manage
    into: Into
    out: Out
    messages: list[Any] = field(default_factory=list)

    def hear(self, new: Sequence[Message]) -> None:
        """Take in what is new in the conversation."""
        self.messages.extend(self.into(new))

    async def call(self) -> Sequence[Any]:
        """The prompt of the next model call, in the form of the rival's package."""
        return await self.manage(self.messages)

    def read(self, view: Sequence[Any]) -> list[Message]:
        """The prompt in our form."""
        return [message for one in view for message in self.out(one)]


@dataclass(frozen=True, slots=True)
class Entry:
    """A strategy with its settings, and how to start a conversation with it. `asks` says that it calls a model."""

    name: str
    start: Callable[[], Session]
    asks: bool = False
