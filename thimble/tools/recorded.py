"""The tools of a recorded run: each returns what the run recorded for the same call."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from typing import Any

from thimble.agent.errors import ToolError
from thimble.agent.messages import Message, Schema

JSON_TYPES = {str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object"}
NAMED_CHARACTERS = 200
"""Characters of a recorded call that a refusal shows."""


def recorded_tools(history: Sequence[Message]) -> dict[str, RecordedTool]:
    """The tools that were called in a history, with their results; the newest result of equal calls counts."""
    calls = {call.id: call for message in history for call in message.calls}
    tools: dict[str, RecordedTool] = {}
    for message in history:
        call = calls.get(message.call_id)
        if message.role == "tool" and call and call.name:
            tools.setdefault(call.name, RecordedTool(call.name)).add_result(call.arguments, message.content)
    return tools


class RecordedTool:
    """A tool by its recorded calls. Its schema is made from their arguments."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._results: dict[str, str] = {}
        self._types: dict[str, str] = {}
        self._given: Counter[str] = Counter()
        self._calls = 0

    def add_result(self, arguments: str, result: str) -> None:
        """Remember the result of a call, unless its arguments are not an object."""
        try:
            given = json.loads(arguments)
        except ValueError:
            return
        if isinstance(given, dict):
            self._results[_key(given)] = result
            self._types = {name: JSON_TYPES.get(type(value), "string") for name, value in given.items()} | self._types
            self._given.update([*given])
            self._calls += 1

    @property
    def schema(self) -> Schema:
        """Its name, and the arguments of its calls; those that every call has are required."""
        parameters = {
            "type": "object",
            "properties": {name: {"type": kind} for name, kind in self._types.items()},
            "required": [name for name in self._types if self._given[name] == self._calls],
        }
        function = {"name": self.name, "description": "As recorded.", "parameters": parameters}
        return {"type": "function", "function": function}

    def run(self, arguments: Mapping[str, Any]) -> str:
        """The recorded result of the same call. Raises ToolError, which names the most similar recorded call."""
        key = _key(arguments)
        if key in self._results:
            return self._results[key]
        near = get_close_matches(key, self._results, 1, 0.0)
        such = f"; the most similar one that it recorded is {near[0][:NAMED_CHARACTERS]}" if near else ""
        raise ToolError(f"the run recorded no call of {self.name} with these arguments{such}")


def _key(arguments: Mapping[str, Any]) -> str:
    return json.dumps(arguments, sort_keys=True, ensure_ascii=False)
