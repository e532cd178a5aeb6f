"""The newest turns: their start, and the messages that stay before them."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from thimble.agent.messages import Message


def find_turns(messages: Sequence[Message]) -> list[int]:
    """The start of each turn that calls a tool: T = (reasoning, action, observation), as in the papers."""
    return [at for at, message in enumerate(messages) if message.role == "assistant" and message.calls]


def newest_turns_start(messages: Sequence[Message], turns: int, *, answers: bool = False) -> int:
    """The start of the newest `turns` turns, or of all if there are fewer; for 0 the end.

    A turn that calls no tool counts only with `answers`.
    """
    start = len(messages)
    for at in reversed(range(len(messages))):
        if not turns:
            break
        if messages[at].role == "assistant" and (answers or messages[at].calls):
            start, turns = at, turns - 1
    return start


def keep_since(messages: Sequence[Message], start: int, stays: Collection[str]) -> list[Message]:
    """The messages from index `start` on, and before them those that stay, by id."""
    return [message for at, message in enumerate(messages) if at >= start or message.id in stays]
