"""Turns: which of the messages are the task and the question, and which every view must show."""

from __future__ import annotations

from collections.abc import Sequence

from thimble.agent.messages import Message, pending


def question(messages: Sequence[Message]) -> Message | None:
    """The current question: the user's newest message. One with a `why` was inserted or repaired."""
    return next((message for message in reversed(messages) if _is_asked(message)), None)


def task(messages: Sequence[Message]) -> Message | None:
    """The first task: the user's oldest message."""
    return next((message for message in messages if _is_asked(message)), None)


def pinned(messages: Sequence[Message]) -> list[Message]:
    """What every view must show as it is: system message, task, question, and a turn that still waits for results."""
    system = messages[0] if messages and messages[0].role == "system" else None
    return [one for one in (system, task(messages), question(messages), *pending(messages)) if one]


def _is_asked(message: Message) -> bool:
    return message.role == "user" and not message.why
