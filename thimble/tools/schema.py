"""A tool is a typed function; its signature and docstring become the JSON schema."""

from __future__ import annotations

import inspect
import json
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from heapq import nsmallest
from typing import TYPE_CHECKING, Any, get_type_hints

from thimble.agent.errors import ToolError
from thimble.agent.messages import Schema
from thimble.corpus.markdown import shorten

if TYPE_CHECKING:
    from pydantic import TypeAdapter

RESULT_CHARACTERS = 8_000
ERROR_LIMIT = 1_000
UNKNOWN_NAMED = 20
"""The most unknown arguments that are named."""
MAX_INTEGER = 10**100
"""The largest integer accepted as an argument; Python does not print one of thousands of digits."""
DOCSTRING_HEADING = r"^(Args|Returns|Raises|Yields|Examples?|Notes?):[ \t]*$"


def tool(
    function: Callable[..., str], limit: int = RESULT_CHARACTERS, known: Mapping[str, Sequence[str]] | None = None
) -> FunctionTool:
    """Make a tool of a function that returns its observation, cut to at most `limit` characters.

    `known` has, by parameter, the values that the schema lists. `run` takes any other value, too.

    Every parameter has an annotation; the docstring describes the tool, and the parameters under `Args:`. Raises
    TypeError for any other function.
    """
    return FunctionTool(function, limit, known)


class FunctionTool:
    """A function that a model may call: its schema, and a run that forgives arguments of nearly the right type."""

    def __init__(
        self,
        function: Callable[..., str],
        limit: int = RESULT_CHARACTERS,
        known: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.name = function.__name__
        self._function = function
        self._known = known or {}
        self._limit = limit
        self._parameters = inspect.signature(function).parameters
        self.description, self._described = _docstring(function)
        for parameter in self._parameters.values():
            if parameter.kind is not parameter.POSITIONAL_OR_KEYWORD or parameter.annotation is parameter.empty:
                raise TypeError(f"{self.name}: {parameter} must be a plain parameter with an annotation")
        if not self.description or self._described.keys() - self._parameters.keys():
            raise TypeError(f"{self.name}: the docstring must describe the tool and only its own parameters")

    @property
    def signature(self) -> str:
        """The call as one would write it: `read_file(path: str, start: int = 1)`."""
        return f"{self.name}({', '.join(map(_written, self._parameters.values()))})"

    @cached_property
    def schema(self) -> Schema:
        """The tool as a chat-completions server takes it, in as few tokens as possible."""
        required = [name for name, parameter in self._parameters.items() if parameter.default is parameter.empty]
        parameters: dict[str, Any] = {
            "type": "object",
            "properties": {name: self._property(name) for name in self._parameters},
        }
        if required:
            parameters["required"] = required
        function = {"name": self.name, "description": self.description, "parameters": parameters}
        return {"type": "function", "function": function}

    def run(self, arguments: Mapping[str, Any]) -> str:
        """Run the tool and return its observation. Raises ToolError, cut to a limit too, also for wrong arguments."""
        try:
            return cut_to_limit(self._function(**self._values(arguments)), self._limit)
        except ToolError as error:
            raise ToolError(cut_to_limit(error.what, ERROR_LIMIT)) from error

    def _values(self, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments in their types. Raises ToolError if one is missing, unknown or of another type."""
        values, problems = {}, []
        for name in nsmallest(UNKNOWN_NAMED, arguments.keys() - self._parameters.keys()):
            problems.append(f"unknown argument {_shown(name)}")
        for name, parameter in self._parameters.items():
            if name in arguments:
                try:
                    values[name] = value = self._value(parameter, arguments[name])
                    if isinstance(value, int) and abs(value) > MAX_INTEGER:
                        raise ValueError
                except ValueError:
                    problems.append(f"{name} must be {_type(parameter)}, not {_shown(arguments[name])}")
            elif parameter.default is parameter.empty:
                problems.append(f"{name} ({_type(parameter)}) is missing")
        if problems:
            raise ToolError(f"{shorten('; '.join(sorted(problems)), 600)}. Call it as {self.signature}.")
        return values

    @property
    def _shared(self) -> Callable[..., str]:
        """The function, not bound to an object."""
        shared: Callable[..., str] = getattr(self._function, "__func__", self._function)
        return shared

    def _property(self, name: str) -> dict[str, Any]:
        schema = {**_schemas_of(self._shared)[name]}
        if text := self._described.get(name):
            schema["description"] = text
        if name in self._known:
            schema["enum"] = [*self._known[name]]
        default = self._parameters[name].default
        if default not in (inspect.Parameter.empty, None, ""):
            schema["default"] = default
        return schema

    def _value(self, parameter: inspect.Parameter, given: object) -> object:
        """The argument in its type; tried as given, then as JSON text. Raises ValueError."""
        adapter = _adapters_of(self._shared)[parameter.name]
        given = _drop_surrogates(given) if isinstance(given, str) else given
        try:
            return adapter.validate_python(given)
        except ValueError:
            blank = given is None or (isinstance(given, str) and not given.strip())
            if blank and parameter.default is not parameter.empty:
                return parameter.default
            if not isinstance(given, str):
                raise
        try:
            return adapter.validate_json(given)
        except ValueError:
            return adapter.validate_python(given.strip())


def cut_to_limit(text: str, limit: int) -> str:
    """The text, cut to at most `limit` characters, at the end of a line if possible, with a note of the cut."""
    text = _drop_surrogates(text)
    if len(text) <= limit:
        return text
    room = max(0, limit - len(f"\n[cut: {len(text):,} of {len(text):,} characters shown]"))
    end = text.rfind("\n", 0, room + 1)
    shown = text[: end if end > room // 2 else room]
    return f"{shown}\n[cut: {len(shown):,} of {len(text):,} characters shown]"


def _drop_surrogates(text: str) -> str:
    """The text without lone surrogates, which cannot be encoded: a model may write half of a pair."""
    return text.encode(errors="replace").decode()


def _docstring(function: Callable[..., str]) -> tuple[str, dict[str, str]]:
    """The description of a function and of its parameters, from a Google-style docstring."""
    sections = re.split(DOCSTRING_HEADING, inspect.getdoc(function) or "", flags=re.MULTILINE)
    args = textwrap.dedent(sections[sections.index("Args") + 1]) if "Args" in sections else ""
    items = re.findall(r"^(\w+)(?: \(.*?\))?:(.*(?:\n[ \t]+.*)*)", args, re.MULTILINE)
    return " ".join(sections[0].split()), {name: " ".join(text.split()) for name, text in items}


def _compact(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter's schema without titles; one that may be null has the schema of its other type."""
    bare = {key: value for key, value in schema.items() if key not in ("title", "default")}
    others = [choice for choice in bare.get("anyOf", []) if choice != {"type": "null"}]
    if len(others) == 1:
        bare = {**{key: value for key, value in bare.items() if key != "anyOf"}, **others[0]}
    return bare


def _written(parameter: inspect.Parameter) -> str:
    default = "" if parameter.default is parameter.empty else f" = {_shown(parameter.default)}"
    return f"{parameter.name}: {_type(parameter)}{default}"


def _type(parameter: inspect.Parameter) -> str:
    annotation = parameter.annotation
    return annotation if isinstance(annotation, str) else inspect.formatannotation(annotation)


@lru_cache(maxsize=64)
def _adapters_of(function: Callable[..., str]) -> Mapping[str, TypeAdapter[Any]]:
    """A reader for each argument; made once for the tools of all sessions that share a function."""
    from pydantic import ConfigDict, TypeAdapter

    config = ConfigDict(coerce_numbers_to_str=True)
    hints = get_type_hints(function, include_extras=True)
    return {name: TypeAdapter(kind, config=config) for name, kind in hints.items() if name != "return"}


@lru_cache(maxsize=64)
def _schemas_of(function: Callable[..., str]) -> Mapping[str, Mapping[str, Any]]:
    """The schema of each argument, without its description."""
    return {name: _compact(adapter.json_schema()) for name, adapter in _adapters_of(function).items()}


def _shown(value: object) -> str:
    try:
        text = _drop_surrogates(json.dumps(value[:80], ensure_ascii=False)) if isinstance(value, str) else repr(value)
    except (RecursionError, ValueError):  # nested too deep, or a number of too many digits
        text = f"this {type(value).__name__}"
    return text if len(text) <= 60 else f"{text[:59]}…"
