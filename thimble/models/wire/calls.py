"""Tool calls between us and a server: unique ids, and arguments that are objects."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from thimble.agent import foreign
from thimble.agent.messages import Message, ToolCall
from thimble.models.wire import bounds


def arguments(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call as an object, which servers require.

    Text that is not a JSON object becomes {"_raw": text}: the model then sees its own text next to the tool's error.
    An empty object would hide the mistake.
    """
    try:
        value = foreign.read(call.arguments)
        json.dumps(value, allow_nan=False)  # Python reads NaN and 1e999, which other JSON readers refuse
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"_raw": call.arguments}


def sendable(call: ToolCall) -> ToolCall:
    """The call as a server takes it as text: rewritten if its arguments are not an object or hold half a surrogate."""
    value = arguments(call)
    made = json.dumps(value, ensure_ascii=False)
    if value == {"_raw": call.arguments} or (not made.isascii() and made.encode(errors="replace").decode() != made):
        return replace(call, arguments=made)
    return call


def call_ids(messages: Sequence[Message]) -> set[str]:
    """Ids of the calls in a prompt."""
    return {call.id for message in messages for call in message.calls}


def given(call_id: object, name: object, arguments: object, taken: set[str]) -> ToolCall:
    """A call that a server sent, with an id that no other call of the conversation has; the id is added to `taken`."""
    fresh = bounds.name(call_id)
    if not fresh or fresh in taken:
        fresh = f"call_{uuid4().hex[:12]}"  # random, because a view may hide earlier calls
    taken.add(fresh)
    if not isinstance(arguments, str):
        arguments = json.dumps({} if arguments is None else arguments, ensure_ascii=False)
    return ToolCall(fresh, bounds.name(name), arguments)
