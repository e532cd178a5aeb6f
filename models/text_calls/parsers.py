"""Parsers of calls written as text, one for each form in which models write them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from agent import foreign
from agent.messages import Schema, ToolCall
from models.text_calls import lenient_json
from models.text_calls.openings import ARGUMENTS, KEYS, NAMES, label

Tools = Mapping[str, Mapping[str, Any]]
"""The tools that are offered: each name with the JSON schema of its parameters."""

SURE = ("tag", "xml", "marked", "action")
"""Forms that are always calls. The others are calls only of known tools, and only at the end of a reply."""


@dataclass(frozen=True, slots=True)
class Read:
    """The calls at the beginning of a text, and the place in it where they end."""

    calls: tuple[ToolCall, ...]
    end: int


def offered(schemas: Sequence[Schema]) -> Tools:
    """The tools of a request."""
    return {schema["function"]["name"]: schema["function"].get("parameters") or {} for schema in schemas}


def malformed(call: ToolCall) -> bool:
    """Whether a call has no name, or arguments that are no JSON object."""
    return not call.name or _object(call.arguments or "{}") is None


def read(text: str, form: str, tools: Tools, *, cut: bool = False) -> Read | None:
    """The calls at the beginning of a text that opens in this form; None if there are none.

    A malformed call has its text as its arguments, and the name "" if the name cannot be read either.

    Args:
        text: From where the form opens, to the end of the reply.
        form: As `openings.Opening` has it, but for those in a fence.
        tools: What is offered.
        cut: The reply was cut off, so that missing brackets at its end must not be guessed.
    """
    return _READERS[form](text, tools, cut)


# ---- with marks of their own ----


def _tag(text: str, tools: Tools, cut: bool) -> Read:
    """`<tool_call>` and its like, with JSON or XML inside; the end tag may be missing, or stand in a string too."""
    opened = re.match(r"\s*<(\w+)>", text)
    assert opened, "the text opens with a tag"
    tag, start = opened[1], opened.end()
    ends = [(end.start(), end.end()) for end in islice(re.finditer(rf"\s*</{tag}>|(?=<{tag}>)", text[start:]), 3)]
    ends = ends or [(len(text) - start, len(text) - start)]
    for end, after in ends:
        content = text[start : start + end]
        calls = _inside(content, tools, cut and start + after == len(text))
        if calls:
            return Read(calls, start + after)
    end, after = ends[0]
    return Read((_broken(text[start : start + end]),), start + after)


def _inside(content: str, tools: Tools, cut: bool) -> tuple[ToolCall, ...]:
    if content.lstrip().startswith("<"):
        return tuple(call for call, _ in _functions(content, tools))
    calls: list[ToolCall] = []
    for value, _ in _values(content, cut):
        calls += _shaped(value)
    return tuple(calls)


def _xml(text: str, tools: Tools, cut: bool) -> Read:
    """`<function=name><parameter=key>value</parameter></function>`, as Qwen3-Coder writes it."""
    for call, end in _functions(text, tools):
        rest = re.compile(r"\s*</tool_call>").match(text, end)
        return Read((call,), rest.end() if rest else end)
    return Read((_broken(text),), len(text))


_FUNCTION = re.compile(
    r"\s*<(function|invoke)(?:=| name=)\"?(?P<name>[\w.:/-]+)\"?\s*>(?P<body>.*?)"
    r"(?:</\1>|(?=<(?:function|invoke)[= ])|(?=</tool_call>)|\Z)",
    re.DOTALL,
)
_PARAMETER = re.compile(
    r"<parameter(?:=| name=)\"?([\w.:/-]+)\"?\s*>(.*?)(?:</parameter>|(?=<parameter[= ])|\Z)", re.DOTALL
)


def _functions(text: str, tools: Tools) -> Iterator[tuple[ToolCall, int]]:
    at = 0
    while found := _FUNCTION.match(text, at):
        at, name, body = found.end(), found["name"], found["body"]
        types = tools.get(name, {}).get("properties", {})
        given = {key: _typed(value, types.get(key, {})) for key, value in _PARAMETER.findall(body)}
        yield ToolCall("", name, _text(given) if given or not body.strip() else _arguments(body)), at


def _typed(value: str, schema: Mapping[str, Any]) -> Any:
    """The value of a parameter: text without the line breaks around it, or JSON where the schema wants no text."""
    value = value.removeprefix("\n").removesuffix("\n")
    if schema.get("type", "string") == "string":
        return value
    try:
        return lenient_json.read(value.strip())[0]
    except ValueError:
        return value


def _marked(text: str, tools: Tools, cut: bool) -> Read | None:
    """`[TOOL_CALLS]`, as Mistral's models write it: a list of calls, or names with `[ARGS]` before the arguments."""
    start = text.index("]") + 1
    named = re.compile(r"\s*([\w.:/-]+)(?:\[CALL_ID\]\w+)?(?:\[ARGS\])?\s*(?=\{)").match(text, start)
    for value, end in _values(text[named.end() if named else start :], cut):
        calls = (ToolCall("", named[1], _text(value)),) if named else _shaped(value)
        if calls:
            return Read(tuple(calls), end + (named.end() if named else start))
    meant = named or text[start:].lstrip().startswith(("[", "{"))
    return Read((_broken(text[start:]),), len(text)) if meant else None


# ---- Action and Action Input ----

_ACTION = re.compile(label("Action"))
_NEXT = re.compile(label("Observation", "Thought", "Final Answer", "Action"))
_INPUT = re.compile(label("Action[ _]Input"))
_ENTITY = re.compile(r"([\w.:/-]+)[ ]?\[([^\n]*)\]")
_WITH_JSON = re.compile(r"([\w.:/-]+)\s*(?=\{)")
NOTHING = ("", "none", "null", "n/a", "{}")


def _action(text: str, tools: Tools, cut: bool) -> Read:
    """`Action:` with `Action Input:`, or with its arguments in the same line, as in `search[a word]`."""
    opened = _ACTION.match(text)
    assert opened, "the text opens with an Action"
    following = _NEXT.search(text, opened.end())
    block = text[: following.start() if following else len(text)]
    given = _INPUT.search(block, opened.end())
    if given:
        name = _name(block[opened.end() : given.start()], tools)
        if not name:
            return Read((ToolCall("", "", block[opened.end() :].strip()),), len(block))
        arguments, end = _input(block[given.end() :], tools.get(name, {}), cut and not following)
        return Read((ToolCall("", name, arguments),), given.end() + end)
    return _in_one(block, opened.end(), tools, cut and not following)


def _in_one(block: str, start: int, tools: Tools, cut: bool) -> Read:
    """An Action without an Action Input: all of it is in the name's line, or there are no arguments."""
    line = (block[start:].split("\n", 1) or [""])[0]
    for value, end in _values(block[start:], cut):
        if calls := _shaped(value):
            return Read(tuple(calls), start + end)
    for pattern in (_ENTITY, _WITH_JSON):
        found = pattern.match(block, start)
        name = _name(found[1], tools) if found else ""
        if found and name:
            text = found[2] if pattern is _ENTITY else block[found.end() :]
            arguments, end = _input(text, tools.get(name, {}), cut)
            return Read((ToolCall("", name, arguments),), found.end() + (0 if pattern is _ENTITY else end))
    name = _name(line, tools)
    if name:
        return Read((ToolCall("", name),), start + len(line))
    return Read((ToolCall("", "", block[start:].strip()),), len(block))


def plain_name(text: str) -> str:
    """The name of a tool without what models put around it; "" for what is none, unless it is a JSON string."""
    try:
        found = json.loads(text) if text.startswith('"') else None
    except ValueError:
        found = None
    if isinstance(found, str):
        return found
    text = text.strip("`*\"'").rstrip(".,;")
    return text if re.fullmatch(r"[\w.:/-]+", text) else ""


def _name(text: str, tools: Tools) -> str:
    """The name of a tool as it stands after `Action:`; "" where that is no name."""
    spelt = re.sub(r"[\s-]+", "_", text.strip(" \t\n`*\"'.")).lower()
    name = plain_name(text.strip())
    return spelt if spelt in tools and name not in tools else name


def _input(text: str, parameters: Mapping[str, Any], cut: bool) -> tuple[str, int]:
    """The arguments as JSON text, and where they end. Plain text is the one argument that a tool needs."""
    before = re.match(r"\s*(?:```\w*\s*)?", text)
    start = before.end() if before else 0
    line = text[start:].split("\n", 1)[0]
    plain: object = line.strip()
    if line[:1] in ("{", "[", '"', "'"):
        try:
            plain, end = lenient_json.read(text, start, cut=cut)
        except ValueError:
            return text[start:].strip(), len(text)
        line = text[start : end + len(text[end:].split("\n", 1)[0])]
    after = re.compile(r"\s*```").match(text, start + len(line))
    end = after.end() if after else start + len(line)
    if isinstance(plain, str):
        return _plain(plain, parameters, text[start:].strip()), end
    return _text(plain), end


def _plain(text: str, parameters: Mapping[str, Any], whole: str) -> str:
    known, required = parameters.get("properties", {}), parameters.get("required", ())
    if text.lower() in NOTHING and not required:
        return "{}"
    try:
        value = lenient_json.read(f"f({text})")[0]["arguments"]
    except (ValueError, TypeError, KeyError):
        value = {}
    if value and isinstance(value, dict) and value.keys() <= set(known):
        return _text(value)
    sole = required if len(required) == 1 else [*known][:2]
    return _text({sole[0]: text}) if text and len(sole) == 1 else whole


# ---- without a mark ----


def _bare(text: str, tools: Tools, cut: bool) -> Read | None:
    """A JSON object of a call's shape or a list of them, or calls as Python writes them."""
    for value, end in _values(text, cut):
        calls = _shaped(value, whole=True)
        known = all(call.name in tools and not malformed(call) for call in calls)
        return Read(tuple(calls), end) if calls and known else None
    broken = _broken(text)
    return Read((broken,), len(text)) if broken.name in tools and broken.arguments != text.strip() else None


# ---- shapes ----


def _values(text: str, cut: bool) -> Iterator[tuple[Any, int]]:
    """The values at the beginning of a text, one after the other, each with where it ends."""
    at = 0
    while found := re.compile(r"[\s,;]*(?=[\[{]|[A-Za-z_][\w.:/-]*\()").match(text, at):
        try:
            value, at = lenient_json.read(text, found.end(), cut=cut)
        except ValueError:
            return
        yield value, at


def _shaped(value: Any, whole: bool = False) -> list[ToolCall]:
    """The calls that a value stands for; none where it has another shape. `whole` ones say their arguments, too."""
    if isinstance(value, list):
        calls = [_shaped(each, whole) for each in value]
        return [call for each in calls for call in each] if all(calls) else []
    if not isinstance(value, dict) or not value.keys() <= set(KEYS):
        return []
    for key in ("tool_calls", "function"):
        if isinstance(value.get(key), dict | list):
            return _shaped(value[key], whole)
    name = next((value[key] for key in NAMES if isinstance(value.get(key), str)), "")
    given = next((key for key in ARGUMENTS if key in value), None)
    if not name or (whole and given is None):
        return []
    return [ToolCall("", name, _text(value[given]) if given else "{}")]


def _broken(text: str) -> ToolCall:
    """A call of which no more than its name can be read, if that."""
    named = re.search(rf"[\"'](?:{'|'.join(NAMES)})[\"']\s*:\s*[\"']([\w.:/-]{{1,64}})[\"']", text)
    given = re.search(rf"[\"'](?:{'|'.join(ARGUMENTS)})[\"']\s*:\s*", text)
    return ToolCall("", named[1] if named else "", (text[given.end() :] if named and given else text).strip())


def _text(given: Any) -> str:
    """Arguments as JSON text."""
    if isinstance(given, str):
        return _arguments(given)
    return "{}" if given is None else json.dumps(given, ensure_ascii=False)


def _arguments(text: str) -> str:
    """Arguments that are written as text: mended where that can be, else as they are."""
    try:
        value, _ = lenient_json.read(text.strip())
    except ValueError:
        return text.strip()
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else text.strip()


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = foreign.read(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


_READERS: Mapping[str, Callable[[str, Tools, bool], Read | None]] = {
    "tag": _tag,
    "xml": _xml,
    "marked": _marked,
    "action": _action,
    "json": _bare,
    "python": _bare,
}
