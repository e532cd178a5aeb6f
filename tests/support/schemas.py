"""Tools to call, and calls of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from thimble.agent.messages import Schema, ToolCall


def schema(name: str, description: str = "", required: Sequence[str] = (), **types: str) -> Schema:
    """A tool with parameters of these types."""
    properties = {key: {"type": kind} for key, kind in types.items()}
    parameters: dict[str, Any] = {"type": "object", "properties": properties}
    if required:
        parameters["required"] = list(required)
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


SCHEMAS = [
    schema("list_articles", "List the articles. Twenty a page.", topic="string", page="integer"),
    schema("read_article", "Read an article.", ["slug"], slug="string", page="integer"),
    schema("save_note", "Keep a fact.", ["title", "text"], title="string", text="string"),
]


def call(name: str = "read_article", **arguments: Any) -> ToolCall:
    """A call without an id."""
    return ToolCall("", name, json.dumps(arguments, ensure_ascii=False))
