"""The prompt of a model that calls by schema: a description of the tools, and the conversation as plain text.

A turn is one JSON object, a tool with its arguments or the answer. Roles alternate, as some chat templates insist:
adjacent messages of one role become one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import groupby
from typing import Any

from thimble.agent import foreign
from thimble.agent.budget import Counter
from thimble.agent.messages import Message, Schema, ToolCall
from thimble.agent.prompts import CANNOT_ANSWER
from thimble.corpus.attribution import SOURCES_AT_END
from thimble.models.text_observations import write_as_text

INSTRUCTIONS = """\
Reply with one JSON object:
{}
{{"answer": answer}} the two or three sentences of what was found that answer the question, copied
{{"cannot_answer": why}} if nothing that was found answers the question"""
"""The instructions to the model; {} is the list of the tools."""
DECLINES = f"It {CANNOT_ANSWER}: "
"""The text for `cannot_answer` in the conversation."""


def plain_conversation(messages: Sequence[Message], tools: Sequence[Schema]) -> list[Message]:
    """The messages as plain text, of the roles system, user and assistant alone; the first describes the tools."""
    texts = [*map(as_text, messages)]
    if tools:
        texts.insert(sum(message.role == "system" for message in texts[:1]), describe_tools(tools))
    return [_joined(list(group)) for _, group in groupby(texts, lambda message: message.role)]


def describe_tools(tools: Sequence[Schema]) -> Message:
    """The message that describes these tools to the model."""
    return Message("tools", "system", INSTRUCTIONS.format("\n".join(_line(tool["function"]) for tool in tools)))


@lru_cache(maxsize=4_096)
def as_text(message: Message) -> Message:
    """A message with its calls or result written as text: words, calls and answers as the model must write them."""
    message = write_as_text(message)
    content = message.content or ""  # a history read from a file may hold None
    if message.role != "assistant":
        return Message(message.id, "user" if message.role == "tool" else message.role, content)
    objects = [*map(write_call, message.calls)] or [_answered(content)]
    said = [content] if message.calls and content else []
    written = "\n".join([*said, *(json.dumps(each, ensure_ascii=False) for each in objects)])
    return Message(message.id, message.role, written)


def write_call(call: ToolCall) -> dict[str, Any]:
    """A call as the model must write it."""
    try:
        arguments = foreign.parse_json(call.arguments)
    except ValueError:
        arguments = call.arguments
    values = [*arguments.values()] if isinstance(arguments, dict) else [arguments]
    return {call.name: values[0] if len(values) == 1 else arguments}


def required_arguments(function: Schema) -> Mapping[str, Any]:
    """The arguments to ask for: the required ones, else the first."""
    parameters = function.get("parameters") or {}
    properties: Mapping[str, Any] = parameters.get("properties", {})
    return {name: properties[name] for name in parameters.get("required") or [*properties][:1]}


class SchemaCounter(Counter):
    """Counts messages as `conversation` writes them, with the counter of the model.

    Each is counted separately, with its own markers. If adjacent messages become one, like the description of the
    tools and the system message, the count is a few tokens above the prompt; if the server joins messages too, it can
    be a token below. So no count is exact.
    """

    exact = False

    def __init__(self, counter: Counter) -> None:
        self._counter = counter
        self._sent: int | None = None

    def count(self, message: Message) -> int:
        """Tokens of a message in a prompt."""
        return self._counter.count(as_text(message))

    def overhead(self, tools: Sequence[Schema]) -> int:
        """Tokens of the template, and of the description of the tools."""
        return self._counter.overhead(()) + (self._counter.count(describe_tools(tools)) if tools else 0)

    def calibrate(self, counted: int, reported: int) -> bool:
        """Learn from the count of a server; ours is of the prompt as it was sent."""
        return self._counter.calibrate(counted if self._sent is None else self._sent, reported)

    @property
    def learnt(self) -> Any:
        """The state of `calibrate` in the model's counter, to be restored."""
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


def _line(function: Schema) -> str:
    """A tool in one line: the object that calls it, the first sentence of its description, its arguments' meanings."""
    arguments = required_arguments(function)
    shown = next(iter(arguments), "") if len(arguments) == 1 else json.dumps({name: name for name in arguments})
    does = re.split(r"(?<=[.!?])\s", function.get("description", "").strip(), maxsplit=1)[0]
    meanings = (f"{name}: {schema['description']}" for name, schema in arguments.items() if "description" in schema)
    return " ".join([f'{{"{function["name"]}": {shown}}}', does, *meanings])


def _answered(content: str) -> dict[str, str]:
    if content.startswith(DECLINES):
        return {"cannot_answer": content.removeprefix(DECLINES)}
    return {"answer": SOURCES_AT_END.sub("", content)}
