"""The text ReAct prompt: a description of the tools, and a conversation with calls rewritten as plain text.

The protocol is that of ReAct (Yao et al. 2022): Thought, Action, Action Input, Observation. Roles alternate, as some
chat templates insist: neighbours of one role are one message.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from typing import Any, NamedTuple

from thimble.agent.budget import Counter
from thimble.agent.messages import Message, Schema, ToolCall
from thimble.models.counting.message_counter import spaced
from thimble.models.text_calls.openings import TOLD
from thimble.models.text_calls.parsers import plain_name
from thimble.models.text_observations import as_written


class CallForm(NamedTuple):
    """How calls are written as text."""

    name: str
    """What users are told of it."""

    told: str
    """What the model is told of the tools; {} is the list of them."""

    line: Callable[[Schema], str]
    """A tool in that list."""

    said: Callable[[str, Sequence[ToolCall]], str]
    """The model's own words and calls."""

    result: str
    """What stands before a result."""

    def description(self, tools: Sequence[Schema]) -> Message:
        """What the model is told of these tools."""
        return Message("tools", "system", self.told.format("\n".join(self.line(tool["function"]) for tool in tools)))


def conversation(messages: Sequence[Message], tools: Sequence[Schema], form: CallForm) -> list[Message]:
    """The messages as plain text, of the roles system, user and assistant alone; the first describes the tools."""
    texts = [as_text(message, form) for message in messages]
    if tools:
        texts.insert(sum(message.role == "system" for message in texts[:1]), form.description(tools))
    return [_joined(list(group)) for _, group in groupby(texts, lambda message: message.role)]


@lru_cache(maxsize=4_096)
def as_text(message: Message, form: CallForm) -> Message:
    """A message with its calls or result written as text."""
    message = as_written(message)
    content = message.content or ""  # a history read from a file may hold None
    if message.role == "tool":
        return Message(message.id, "user", form.result + content)
    return Message(
        message.id, message.role, form.said(content, message.calls) if message.role == "assistant" else content
    )


def first_sentence(function: Schema) -> str:
    """The first sentence of what a tool does."""
    return re.split(r"(?<=[.!?])\s", function.get("description", "").strip(), maxsplit=1)[0]


class TextCounter(Counter):
    """Counts messages as `conversation` writes them, with the counter of the model.

    Each is counted by itself, with markers of its own. Where neighbours become one message, as the description of the
    tools and the system message do, that is a few tokens above the prompt; where the server joins neighbours too, it
    can be a token below. So no count is exact.
    """

    exact = False

    def __init__(self, counter: Counter, form: CallForm) -> None:
        self._counter = counter
        self._form = form
        self._sent: int | None = None

    def count(self, message: Message) -> int:
        """Tokens of a message in a prompt."""
        return self._counter.count(as_text(message, self._form))

    def overhead(self, tools: Sequence[Schema]) -> int:
        """Tokens of the template, and of what the model is told of the tools."""
        return self._counter.overhead(()) + (self._counter.count(self._form.description(tools)) if tools else 0)

    def calibrate(self, counted: int, reported: int) -> bool:
        """Learn from the count of a server; ours is of the prompt as it was sent."""
        return self._counter.calibrate(counted if self._sent is None else self._sent, reported)

    @property
    def learnt(self) -> Any:
        """What the model's counter has learnt from `calibrate`, to be restored."""
        return self._counter.learnt

    @learnt.setter
    def learnt(self, learnt: Any) -> None:
        if learnt is not None:
            self._counter.learnt = learnt

    def sends(self, texts: Sequence[Message]) -> None:
        """Remember the prompt that the server is reading."""
        self._sent = self._counter.overhead(()) + sum(map(self._counter.count, texts))


def _joined(group: Sequence[Message]) -> Message:
    content = "\n\n".join(message.content for message in group)
    return group[0] if len(group) == 1 else replace(group[0], content=content)


def _said(content: str, calls: Sequence[ToolCall]) -> str:
    content = content.strip()
    if not calls:
        return f"Final Answer: {content}"
    return "\n".join([*([f"Thought: {content}"] if content else []), *map(_called, calls)])


def _called(call: ToolCall) -> str:
    """A call as the model is told to write it; one without a name as it was written."""
    if not call.name:
        return call.arguments or "Action:"
    name = call.name if plain_name(call.name) else json.dumps(call.name)
    return f"Action: {name}\nAction Input: {spaced(call.arguments)}"


def _line(function: Schema) -> str:
    """A tool in one line: name {"argument": type, "other": type?} and the first sentence of what it does."""
    parameters = function.get("parameters") or {}
    required = parameters.get("required", ())
    pairs = (
        f'"{name}": {_type(schema)}{"" if name in required else "?"}'
        for name, schema in parameters.get("properties", {}).items()
    )
    return f"{function['name']} {{{', '.join(pairs)}}} {first_sentence(function)}".rstrip()


def _type(schema: Any) -> str:
    if "enum" in schema:
        return " or ".join(map(json.dumps, schema["enum"]))
    return str(schema.get("type", "any"))


REACT = CallForm("text ReAct", TOLD + "{}", _line, _said, "Observation: ")
