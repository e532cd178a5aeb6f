"""Turns: which of the messages are the task and the question, and which every view must show."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import dropwhile, takewhile

from thimble.agent.messages import Message, pending_turn


def question(messages: Sequence[Message]) -> Message | None:
    """The current question: the user's newest message. One with a `why` was inserted or repaired."""
    return next(filter(_is_asked, reversed(messages)), None)


def task(messages: Sequence[Message]) -> list[Message]:
    """The first task: all that the user says before the first reply to it. Some programs send the environment first."""
    opening = dropwhile(lambda message: not _is_asked(message), messages)
    return [*filter(_is_asked, takewhile(lambda message: message.role != "assistant", opening))]


def pinned(messages: Sequence[Message]) -> list[Message]:
    """The messages that every view must show unchanged: system message, task, question, a turn without all results."""
    system = messages[0] if messages and messages[0].role == "system" else None
    return [one for one in (system, *task(messages), question(messages), *pending_turn(messages)) if one]


def _is_asked(message: Message) -> bool:
    return message.role == "user" and not message.why
