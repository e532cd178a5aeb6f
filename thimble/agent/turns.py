"""Turns: the task and the question, what every view must show, and calls that are only announced."""

from __future__ import annotations

import json
import re
from collections.abc import Container, Sequence
from itertools import dropwhile, takewhile

from thimble.agent.messages import Message, pending

PRINTED_CALL = re.compile(
    r"^[ \t]*(?P<mark><[^\n<>]{1,40}>|\[TOOL_CALLS\]|```\w*)?\s{0,9}"
    r'(?:<function=(?P<tag>[\w.-]+)|(?P<json>\[?\s{0,9}\{[^{}]{0,60}?"name"\s{0,9}:\s{0,9}"(?P<name>[\w.-]+)"))',
    re.MULTILINE,
)
"""The beginning of a call that is written as text: XML or JSON, behind a tag or a fence, or at the start of a line."""
WORDS_BEHIND_TAG = re.compile(r"</\w+>[\s`]*[^\s`<]")
NO_WORDS = re.compile(r"(?:\s|```|</?\w{1,40}>)*")
_decoder = json.JSONDecoder(strict=False)


def question(messages: Sequence[Message]) -> Message | None:
    """The current question: the user's newest message. One with a `why` was inserted or repaired."""
    return next((message for message in reversed(messages) if _is_asked(message)), None)


def task(messages: Sequence[Message]) -> list[Message]:
    """The first task: all that the user says before the first reply to it. Some programs send the environment first."""
    opening = dropwhile(lambda message: not _is_asked(message), messages)
    return [*filter(_is_asked, takewhile(lambda message: message.role != "assistant", opening))]


def pinned(messages: Sequence[Message]) -> list[Message]:
    """What every view must show as it is: system message, task, question, and a turn that still waits for results."""
    system = messages[0] if messages and messages[0].role == "system" else None
    return [one for one in (system, *task(messages), question(messages), *pending(messages)) if one]


def announces(reply: str, tools: Container[str]) -> bool:
    """Whether a reply ends with a call of one of these tools that is written as text: no server has taken it for one.

    A call with words behind it is an example.
    """
    for found in PRINTED_CALL.finditer(reply):
        if (found["tag"] or found["name"]) not in tools:
            continue
        if found["tag"] or (found["mark"] or "").startswith("<"):
            if not WORDS_BEHIND_TAG.search(reply, found.end()):
                return True
            continue
        try:
            _, end = _decoder.raw_decode(reply, found.start("json"))
        except (ValueError, RecursionError):
            continue
        if NO_WORDS.fullmatch(reply, end):
            return True
    return False


def _is_asked(message: Message) -> bool:
    return message.role == "user" and not message.why
