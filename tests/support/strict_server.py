"""A strict server: what it answers 400 to, read from the JSON of a request and from nothing that thimble knows.

The rules are those of OpenAI's chat completions, and of chat templates that stop at a message out of its place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

ROLES = ("system", "user", "assistant", "tool")


def refusal(messages: Sequence[Mapping[str, Any]], may_wait: bool = False) -> str:
    """Why these messages are refused; empty if it is taken. The last calls may be open if they `may_wait`."""
    messages = json.loads(json.dumps(messages))
    open_calls: set[str] = set()
    for number, message in enumerate(messages):
        role, content = message.get("role"), message.get("content")
        if role not in ROLES:
            return f"messages[{number}]: no role {role!r}"
        if not isinstance(content, str) and not (content is None and message.get("tool_calls")):
            return f"messages[{number}]: no content"
        if role == "system" and number:
            return f"messages[{number}]: the system message must be at the beginning"
        if role == "tool":
            if message.get("tool_call_id") not in open_calls:
                return f"messages[{number}]: tool must be a response to a preceding message with tool_calls"
            open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            return f"messages[{number}]: tool_call_ids without response messages: {sorted(open_calls)}"
        if "tool_call_id" in message:
            return f"messages[{number}]: a {role} message answers no call"
        if "tool_calls" in message:
            calls = message["tool_calls"]
            if role != "assistant" or not calls:
                return f"messages[{number}]: tool_calls is empty, or not the assistant's"
            ids = [call.get("id") for call in calls]
            if not all(isinstance(id_, str) and id_ for id_ in ids) or len({*ids}) < len(ids):
                return f"messages[{number}]: tool calls need an id each, not {ids}"
            if not all(call["type"] == "function" and call["function"]["name"] for call in calls):
                return f"messages[{number}]: a tool call has no name"
            open_calls = {*ids}
    return "" if may_wait or not open_calls else f"no responses to {sorted(open_calls)} at the end"
