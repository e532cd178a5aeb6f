"""Tool calls on their way between us and a server: ids that are unique, arguments that are objects."""

from __future__ import annotations

import json
from typing import Any
from uuid import uuid4

from agent.messages import ToolCall


def arguments(call: ToolCall) -> dict[str, Any]:
    """Arguments as the object that servers insist on.

    What is no JSON object is sent as {"_raw": text}: the model then sees what it wrote beside the error that the
    tool answered with, where an empty object would hide its mistake from it.
    """
    try:
        value = json.loads(call.arguments)
        json.dumps(value, allow_nan=False)  # Python reads NaN and 1e999, which no other JSON reader takes
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {"_raw": call.arguments}


def given(call_id: object, name: object, arguments: object, taken: set[str]) -> ToolCall:
    """A call as a server gave it, with an id that no other of the conversation has; the id joins `taken`."""
    fresh = call_id if isinstance(call_id, str) else ""
    if not fresh or fresh in taken:
        fresh = f"call_{uuid4().hex[:12]}"  # random, because a view may hide the calls before
    taken.add(fresh)
    if not isinstance(arguments, str):
        arguments = json.dumps({} if arguments is None else arguments, ensure_ascii=False)
    return ToolCall(fresh, name if isinstance(name, str) else "", arguments)
