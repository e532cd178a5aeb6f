"""Turns: what a list of messages is made of, and which of them are the task, the question and the newest turns."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from agent.messages import Message, pending


def question(messages: Sequence[Message]) -> Message | None:
    """The current question: the user's newest message. What was inserted or repaired says `why` and is none."""
    return next((message for message in reversed(messages) if _is_asked(message)), None)


def task(messages: Sequence[Message]) -> Message | None:
    """The first task: the user's oldest message."""
    return next((message for message in messages if _is_asked(message)), None)


def pinned(messages: Sequence[Message]) -> list[Message]:
    """What every view must show as it is: system message, task, question, and a turn that still waits for results."""
    system = messages[0] if messages and messages[0].role == "system" else None
    return [one for one in (system, task(messages), question(messages), *pending(messages)) if one]


def acts(messages: Sequence[Message]) -> list[int]:
    """Where each turn begins that calls a tool: T = (reasoning, action, observation), as in the papers."""
    return [at for at, message in enumerate(messages) if message.role == "assistant" and message.calls]


def newest(messages: Sequence[Message], turns: int, *, answers: bool = False) -> int:
    """Where the newest turns begin, so many of them or as many as there are; the end for none.

    A turn that calls no tool counts only with `answers`.
    """
    start = len(messages)
    for at in reversed(range(len(messages))):
        if not turns:
            break
        if messages[at].role == "assistant" and (answers or messages[at].calls):
            start, turns = at, turns - 1
    return start


def since(messages: Sequence[Message], start: int, stays: Collection[str]) -> list[Message]:
    """The messages from this place on, and before them those that stay, by id."""
    return [message for at, message in enumerate(messages) if at >= start or message.id in stays]


def _is_asked(message: Message) -> bool:
    return message.role == "user" and not message.why
