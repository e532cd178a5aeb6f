"""A strict server: what it answers 400 to, read from the JSON of a request and from nothing that thimble knows.

The rules are those of OpenAI's chat completions, and of chat templates that stop at a system message out of its place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

ROLES = ("system", "developer", "user", "assistant", "tool")


def refusal(messages: Sequence[Mapping[str, Any]], may_wait: bool = False, in_order: bool = True) -> str:
    """Why these messages are refused; empty if they are taken.

    The last calls may be open if they `may_wait`. A system message may be anywhere if they need not be `in_order`.
    """
    messages = json.loads(json.dumps(messages))
    open_calls: set[str] = set()
    for number, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        if role not in ROLES:
            return f"messages[{number}]: no role {role!r}"
        if isinstance(content, list) and not (content and all("type" in part for part in content)):
            return f"messages[{number}]: a content without parts, or a part without a type"
        if not isinstance(content, str | list) and not (content is None and message.get("tool_calls")):
            return f"messages[{number}]: no content"
        if role == "system" and number and in_order:
            return f"messages[{number}]: the system message must be at the beginning"
        if role == "tool":
            if message.get("tool_call_id") not in open_calls:
                return f"messages[{number}]: tool must be a response to a preceding message with tool_calls"
            open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            return f"messages[{number}]: tool_call_ids without response messages: {sorted(open_calls)}"
        if "tool_call_id" in message and in_order:
            return f"messages[{number}]: a {role} message answers no call"
        if "tool_calls" in message:
            wrong, ids = _calls(message)
            if wrong:
                return f"messages[{number}]: {wrong}"
            open_calls = {*ids}
    return "" if may_wait or not open_calls else f"no responses to {sorted(open_calls)} at the end"


def _calls(message: Mapping[str, Any]) -> tuple[str, list[str]]:
    """What is wrong with the calls of a message, and their ids."""
    calls = message["tool_calls"]
    if message["role"] != "assistant" or not calls:
        return "tool_calls is empty, or not the assistant's", []
    ids = [call.get("id") for call in calls]
    if not all(isinstance(id_, str) and id_ for id_ in ids) or len({*ids}) < len(ids):
        return f"tool calls need an id each, not {ids}", ids
    functions = [call["function"] for call in calls if call["type"] == "function"]
    if len(functions) < len(calls) or not all(each["name"] for each in functions):
        return "a tool call has no name", ids
    if not all(isinstance(each["arguments"], str) for each in functions):
        return "the arguments of a tool call are not a text", ids
    return "", ids
