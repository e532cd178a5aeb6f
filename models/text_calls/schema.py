"""Calls by schema: a turn is one JSON object, a tool with its arguments or the answer, and the server enforces it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from thimble.agent import foreign
from thimble.agent.frame import is_framing
from thimble.agent.messages import Message, Schema, ToolCall
from thimble.agent.prompts import CANNOT
from thimble.agent.protocols import Delta, Text
from thimble.corpus.attribution import SOURCES_BEHIND, attribute, pieces
from thimble.corpus.markdown import sentences
from thimble.models.text_calls.prompt import CallForm, first_sentence

SCHEMA_TOLD = """\
Reply with one JSON object:
{}
{{"answer": answer}} the one or two sentences of what was found that answer the question
{{"cannot_answer": why}} if nothing that was found answers the question"""
DECLINES = f"It {CANNOT}: "
"""What `cannot_answer` becomes in the conversation."""
LONGEST_ARGUMENT, LONGEST_ANSWER = 300, 800
"""Characters of an argument and of an answer: a small model may write one without end."""
ANSWER_BEGINNING = re.compile(r'\s*\{\s*"(?P<kind>answer|cannot_answer)"\s*:\s*"')
"""What stands before the words of an answer."""
SAID_WORDS = re.compile(r'(?:[^"\\]|\\u[dD][89abAB]\w\w\\u\w{4}|\\u(?![dD][89abAB])\w{4}|\\[^u])*')
"""The words of a JSON string as far as they are whole: half an escape, or half a surrogate pair, waits."""


def _line(function: Schema) -> str:
    arguments, properties = _arguments(function), function["parameters"]["properties"]
    shown = next(iter(arguments), "") if len(arguments) == 1 else json.dumps({name: name for name in arguments})
    meanings = (f"{name}: {properties[name]['description']}" for name in arguments if "description" in properties[name])
    return " ".join([f'{{"{function["name"]}": {shown}}}', first_sentence(function), *meanings])


def _arguments(function: Schema) -> Mapping[str, Any]:
    """The arguments that are asked for: the required ones, else the first."""
    parameters = function.get("parameters") or {}
    properties: Mapping[str, Any] = parameters.get("properties", {})
    return {name: properties[name] for name in parameters.get("required") or [*properties][:1]}


def _said(content: str, calls: Sequence[ToolCall]) -> str:
    """Words, calls and answers as the model has to write them."""
    objects = [*map(_called, calls)] or [_answered(content)]
    said = [content] if calls and content else []
    return "\n".join([*said, *(json.dumps(each, ensure_ascii=False) for each in objects)])


def _called(call: ToolCall) -> dict[str, Any]:
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        arguments = call.arguments
    values = [*arguments.values()] if isinstance(arguments, dict) else [arguments]
    return {call.name: values[0] if len(values) == 1 else arguments}


def _answered(content: str) -> dict[str, str]:
    if content.startswith(DECLINES):
        return {"cannot_answer": content.removeprefix(DECLINES)}
    return {"answer": SOURCES_BEHIND.sub("", content)}


SCHEMA = CallForm("calls by schema", SCHEMA_TOLD, _line, _said, "")


def turn_schema(messages: Sequence[Message], tools: Sequence[Schema], may_call: bool) -> Schema:
    """The JSON schema of the next turn.

    A tool that the last turn called is not in it, and one that was called twice with the same arguments for this
    question is not in it any more: so no call is made twice in a row, whatever the model. Before the first call there
    is no answer.
    """
    functions = [tool["function"] for tool in tools]
    made = _made(messages)
    out = {call.name for call in made[-1:]} | {call.name for call in made if made.count(call) > 1}
    forms = [_form({f["name"]: _value(f)}) for f in functions if f["name"] not in out] if may_call else []
    if made or not forms:
        words = {"type": "string", "maxLength": LONGEST_ANSWER} if may_call else {"type": "string"}
        forms.append(_form({"answer": words}))
        forms.append(_form({"cannot_answer": {"type": "string", "maxLength": LONGEST_ARGUMENT}}))
    return {"anyOf": forms}


def _made(messages: Sequence[Message]) -> list[ToolCall]:
    """The calls for the current question, oldest first, without their ids."""
    calls: list[ToolCall] = []
    for message in reversed(messages):
        if message.role == "assistant" and not message.calls:
            break
        calls += [ToolCall("", call.name, call.arguments) for call in reversed(message.calls)]
    return calls[::-1]


def _form(properties: Mapping[str, Any]) -> Schema:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _value(function: Schema) -> Schema:
    """The schema of what a tool takes: its one argument bare, or an object of several."""
    values = {name: _bounded(schema) for name, schema in _arguments(function).items()}
    return next(iter(values.values())) if len(values) == 1 else _form(values)


def _bounded(schema: Schema) -> Schema:
    kept = {key: value for key, value in schema.items() if key in ("type", "enum", "items", "minimum", "maximum")}
    return {**kept, "maxLength": LONGEST_ARGUMENT} if kept.get("type") == "string" else kept


class Turn:
    """Reads a turn while it streams: the sentences of an answer come out as they end, its source and a call at the end.

    Args:
        tools: What is offered.
        messages: The prompt: in what its results show, the source of the answer is found.
    """

    over = False
    cut = False
    """Whether the answer was cut, by its length or at the end of a reply that was: then it ends with a sentence."""

    def __init__(self, tools: Sequence[Schema], messages: Sequence[Message] = ()) -> None:
        self._functions = {tool["function"]["name"]: tool["function"] for tool in tools}
        self._messages = [message for message in messages if not is_framing(message)]
        self._text = ""
        self._said: re.Match[str] | None = None
        self._at = 0
        self._shown, self._rest = "", ""

    def take(self, delta: Delta) -> list[Delta]:
        """What can be shown after this delta."""
        if not isinstance(delta, Text):
            return [delta]
        shown = self._feed(delta.text)
        return [Text(shown)] if shown else []

    def end(self, *, cut: bool = False) -> list[Delta]:
        """What is left at the end: an answer's last sentence and source, or the call; a malformed one has no name."""
        if not self._said:
            return [self._call()] if self._text.strip() and not self._at else []
        answers = self._said["kind"] == "answer"
        limit = LONGEST_ANSWER if answers else LONGEST_ARGUMENT
        closed = self._text.startswith('"', self._at)
        self.cut = len(self._shown + self._rest) == limit if closed else cut
        if self.cut:
            self._rest = "" if self._shown else self._rest.rpartition(" ")[0] or self._rest
        sources = attribute(self._shown + self._rest, pieces(self._messages)) if answers else []
        left = self._rest.rstrip() + "".join(f" [{source}]" for source in sources if source)
        return [Text(left)] if left else []

    def _feed(self, text: str) -> str:
        """The text to show after this piece. What does not begin as an object is text, as if nothing were enforced."""
        self._text += text
        begins = ""
        if not self._said:
            if self._text.lstrip()[:1] not in ("", "{"):
                at, self._at = self._at, len(self._text)
                return self._text[at:]
            self._said = ANSWER_BEGINNING.match(self._text)
            if not self._said:
                return ""
            self._at = self._said.end()
            begins = "" if self._said["kind"] == "answer" else DECLINES
        words = SAID_WORDS.match(self._text, self._at)
        assert words, "it may be empty"
        self._at = words.end()
        self._rest += json.loads(f'"{words[0]}"', strict=False)
        *whole, last = sentences(self._rest) or [""]
        ended = self._rest[: len(self._rest.rstrip()) - len(last)].rstrip() if whole else ""
        self._shown, self._rest = self._shown + ended, self._rest.removeprefix(ended)
        return begins + ended

    def _call(self) -> ToolCall:
        try:
            ((name, value),) = foreign.read(self._text).items()
            arguments = [*_arguments(self._functions[name])]
        except (ValueError, KeyError, AttributeError):
            return ToolCall("", "", self._text)
        given = dict(zip(arguments, [value], strict=False)) if len(arguments) == 1 else value
        return ToolCall("", name, json.dumps(given, ensure_ascii=False))
