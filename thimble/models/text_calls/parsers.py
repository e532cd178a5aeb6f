"""Readers of calls written as text, one for each form in which models write them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from thimble.agent import foreign
from thimble.agent.messages import Schema, ToolCall
from thimble.models.text_calls import lenient_json
from thimble.models.text_calls.openings import CALL_KEYS, label

Tools = Mapping[str, Mapping[str, Any]]
"""The tools that are offered: each name with the JSON schema of its parameters."""


class Read(NamedTuple):
    """The calls at the beginning of a text, and the place in it where they end."""

    calls: list[ToolCall]
    end: int


def offered(schemas: Sequence[Schema]) -> Tools:
    """The tools of a request."""
    return {schema["function"]["name"]: schema["function"].get("parameters") or {} for schema in schemas}


def malformed(call: ToolCall) -> bool:
    """Whether a call has no name, or arguments that are no JSON object."""
    try:
        return not (call.name and isinstance(foreign.read(call.arguments or "{}"), dict))
    except ValueError:
        return True


def plain_name(text: str) -> bool:
    """Whether a text can be the name of a tool as it stands."""
    return re.fullmatch(r"[\w.:/-]+", text) is not None


def read(text: str, form: str, tools: Tools, *, cut: bool = False) -> Read | None:
    """The calls at the beginning of a text that opens in this form; None if there are none.

    A malformed call has its text as its arguments, and the name "" if the name cannot be read either.

    Args:
        text: From where the form opens, to the end of the reply.
        form: As `openings` names it: "tag", "xml", "json" or "action".
        tools: What is offered.
        cut: The reply was cut off, so that missing brackets at its end must not be guessed.
    """
    reader = {"json": _json, "action": _action}.get(form, _tag)
    return reader(text, tools, cut)


# ---- XML, as Qwen3-Coder writes it, and JSON ----

_XML = re.compile(
    r"(?:<tool_call>\s*)?<function=([\w.:/-]+)>(.*?)(?:</function>|(?=</tool_call>)|\Z)\s*(?:</tool_call>\s*)?",
    re.DOTALL,
)
_PARAMETER = re.compile(r"<parameter=([\w.:/-]+)>\n?((?:(?!<parameter=).)*?)\n?</parameter>", re.DOTALL)
_BEFORE = re.compile(r"[^\[{]*")
_TAG_END = re.compile(r"\s*(?:</tool_call>\s*)?")
_REPLY_END = re.compile(r"\s*(?:```)?\s*\Z")
_VALUE = re.compile(r"[\s,;]*(?=[{\[])")
_MEANT = re.compile(r'"name"\s*:\s*"([\w.:/-]{1,64})".{0,99}?"(?:arguments|parameters)"\s*:\s*', re.DOTALL)


def _tag(text: str, tools: Tools, cut: bool) -> Read:
    """`<tool_call>` with JSON or XML inside, or XML alone; the end tag may be missing."""
    if xml := _XML.match(text):
        types = tools.get(xml[1], {}).get("properties", {})
        given = {key: _typed(value, types.get(key, {})) for key, value in _PARAMETER.findall(xml[2])}
        return Read([ToolCall("", xml[1], _text(given))], xml.end())
    start = text.index(">") + 1
    calls, end = _objects(text, start, cut)
    if not calls:
        broken = text[start:].partition("</tool_call>")[0]
        calls, end = [_broken(broken)], start + len(broken)
    return Read(calls, _end(_TAG_END, text, end))


def _json(text: str, tools: Tools, cut: bool) -> Read | None:
    """A JSON object of a call of an offered tool or a list of them, perhaps in a code fence, at the end of a reply."""
    start = _end(_BEFORE, text, 0)
    calls, end = _objects(text, start, cut)
    if not calls:
        broken = _broken(text[start:])
        return Read([broken], len(text)) if end == start and broken.name in tools else None
    known = all(call.name in tools and not malformed(call) for call in calls)
    return Read(calls, len(text)) if known and _REPLY_END.match(text, end) else None


def _objects(text: str, at: int, cut: bool) -> Read:
    """The calls that JSON stands for: values one after the other, each a call or a list of them; none if one is not."""
    calls: list[ToolCall] = []
    while begins := _VALUE.match(text, at):
        try:
            value, end = lenient_json.read(text, begins.end(), cut=cut)
        except ValueError:
            break
        made = list(map(_call, value if isinstance(value, list) else [value]))
        if None in made:
            return Read([], end)
        calls, at = [*calls, *filter(None, made)], end
    return Read(calls, at)


def _call(value: Any) -> ToolCall | None:
    if not isinstance(value, dict) or not value.keys() <= set(CALL_KEYS):
        return None
    function = value.get("function")
    value = function if isinstance(function, dict) else value
    name, given = value.get("name"), value.get("arguments", value.get("parameters", {}))
    return ToolCall("", name, given if isinstance(given, str) else _text(given)) if isinstance(name, str) else None


def _broken(text: str) -> ToolCall:
    """A call of which no more than its name can be read, if that."""
    meant = _MEANT.search(text)
    name, given = (meant[1], text[meant.end() :]) if meant else ("", text)
    return ToolCall("", name, given.strip(" \t\n`"))


def _typed(value: str, schema: Mapping[str, Any]) -> Any:
    """The value of a parameter: text, or JSON where the schema wants no text."""
    try:
        return value if schema.get("type", "string") == "string" else lenient_json.read(value.strip())[0]
    except ValueError:
        return value


# ---- Action and Action Input ----

_ACTION = re.compile(label("Action"))
_INPUT = re.compile(label("Action[ _]Input") + r"\s*(?:```\w*\s*)?")
_NEXT = re.compile(label("Observation", "Thought", "Final Answer", "Action"))
_INPUT_END = re.compile(r"\s*(?:```\s*)?")
NO_INPUT = ("", "none", "null", "n/a")


def _action(text: str, tools: Tools, cut: bool) -> Read:
    """`Action:` with the name of a tool, and `Action Input:` with its arguments in the next line."""
    opened = _ACTION.search(text)
    assert opened, "the text opens with an Action"
    start = opened.end()
    following = _NEXT.search(text, start)
    block = text[: following.start()] if following else text
    given = _INPUT.search(block, start)
    end = given.start() if given else block.find("\n", start)
    name = block[start:end].strip(" \t\n`*\"'.")
    if not plain_name(name):
        return Read([ToolCall("", "", block[start:].strip())], len(block))
    arguments, end = _input(block, given.end(), tools.get(name, {}), cut and not following) if given else ("{}", end)
    return Read([ToolCall("", name, arguments)], _end(_INPUT_END, block, end))


def _input(text: str, start: int, parameters: Mapping[str, Any], cut: bool) -> tuple[str, int]:
    """The arguments as JSON text, and where they end. Plain text is the one argument that a tool needs."""
    if text.startswith(("{", "["), start):
        try:
            value, end = lenient_json.read(text, start, cut=cut)
        except ValueError:
            return text[start:].strip(), len(text)
        return _text(value), end
    plain = text[start:].partition("\n")[0]
    end, plain = start + len(plain), plain.strip(" \t\"'`")
    required = parameters.get("required", ())
    if not required and plain.lower() in NO_INPUT:
        return "{}", end
    return _text({required[0]: plain}) if plain and len(required) == 1 else plain, end


def _text(given: Any) -> str:
    return json.dumps(given, ensure_ascii=False)


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at
