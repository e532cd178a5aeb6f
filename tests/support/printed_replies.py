"""Tools to call, calls of them, and replies read in chunks."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import strategies as st

from thimble.agent.messages import Schema, ToolCall
from thimble.agent.protocols import Delta, Text
from thimble.models.text_calls.parsers import Tools, offered
from thimble.models.text_calls.printed_calls import PrintedCalls


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
TOOLS = offered(SCHEMAS)

WORDS = st.text(max_size=12)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=6,
)
ARGUMENTS = st.dictionaries(WORDS, JSON, max_size=3)

FRAGMENTS = st.sampled_from(
    [
        *("<tool_call>", "</tool_call>", "<function=read_article>", "</function>"),
        *("<parameter=slug>", "</parameter>", "<tool_response>", "<tool_call>\n{"),
        *("```", "```json\n", "\n```", "`", "Action:", "\nAction: ", "Action Input:", "\nAction Input: ", "**"),
        *("Thought: ", "\nObservation: ", "\nFinal Answer: ", "read_article", "list_articles", "no_such_tool"),
        *('{"name": "read_article", "arguments": {"slug": "x"}}', '{"name": "', '"arguments": ', "{}", '{"slug": "x"}'),
        *("[", "]", "{", "}", "(", ")", '"', "'", "{'slug': 'x'}", "None", ",", ":", "\\"),
        *("\n", "\n\n", " ", "\t", "\r", "\x85", "plain words. ", "1"),
    ]
)
REPLIES = st.lists(FRAGMENTS | WORDS, max_size=12).map("".join)
"""Replies that are full of what may be a call."""


def call(name: str = "read_article", **arguments: Any) -> ToolCall:
    """A call as a reply gives it: without an id."""
    return ToolCall("", name, json.dumps(arguments, ensure_ascii=False))


def deltas(chunks: str | Iterable[str], tools: Tools = TOOLS, cut: bool = False, **how: bool) -> list[str | ToolCall]:
    """The texts and calls of a reply that comes in these chunks; texts that follow each other are one."""
    printed = PrintedCalls(tools, **how)
    said: list[Delta] = []
    for chunk in [chunks] if isinstance(chunks, str) else chunks:
        said += printed.take(Text(chunk))
        if printed.over:
            break
    joined: list[str | ToolCall] = []
    for delta in [*said, *printed.end(cut=cut)]:
        if isinstance(delta, ToolCall):
            joined.append(delta)
        elif isinstance(delta, Text) and joined and isinstance(joined[-1], str):
            joined[-1] += delta.text
        elif isinstance(delta, Text) and delta.text:
            joined.append(delta.text)
    return joined
