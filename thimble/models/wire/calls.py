"""Tool calls between us and a server: unique ids, known names, and arguments that are objects."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any
from uuid import uuid4

from thimble.agent import foreign
from thimble.agent.messages import Message, Schema, ToolCall
from thimble.models.wire import bounds

NAME = re.compile(r"(?:^|[.:/=>])([\w-]+)(?=\s*(?:$|<\|))")
"""A possible name of a tool: at the end or before a control token, alone or after a namespace or a control token."""


def arguments(call: ToolCall) -> dict[str, Any]:
    """The arguments of a call as an object, which servers require.

    Text that is not a JSON object becomes {"_raw": text}: the model then sees its own text next to the tool's error.
    An empty object would hide the mistake.
    """
    try:
        value = foreign.parse_json(call.arguments)
        json.dumps(value, allow_nan=False)  # Python reads NaN and 1e999, which other JSON readers refuse
    except ValueError:
        value = None
    return value if isinstance(value, dict) else {"_raw": call.arguments}


def make_sendable(message: Message) -> Message:
    """The message as a server takes it: calls whose arguments are not an object or hold half a surrogate rewritten."""
    calls = (*map(_make_call_sendable, message.calls),)
    return message if calls == message.calls else replace(message, calls=calls)


def _make_call_sendable(call: ToolCall) -> ToolCall:
    value = arguments(call)
    made = json.dumps(value, ensure_ascii=False)
    if value == {"_raw": call.arguments} or (not made.isascii() and made.encode(errors="replace").decode() != made):
        return replace(call, arguments=made)
    return call


def call_ids(messages: Sequence[Message]) -> set[str]:
    """Ids of the calls in a prompt."""
    return {call.id for message in messages for call in message.calls}


def make_call(call_id: object, name: object, arguments: object, taken: set[str]) -> ToolCall:
    """A call that a server sent, with an id that no other call of the conversation has; the id is added to `taken`."""
    fresh = mend_surrogates(bounds.clean_name(call_id))
    if not fresh or fresh in taken:
        fresh = f"call_{uuid4().hex[:12]}"  # random, because a view may hide earlier calls
    taken.add(fresh)
    return ToolCall(fresh, mend_surrogates(bounds.clean_name(name)), mend_surrogates(_object(arguments)))


def known_name(name: str, tools: Sequence[Schema]) -> str:
    """The name of the tool that a model means, if its server leaves a namespace or control tokens at it.

    As in `functions.search` and `search<|channel|>json`. A name that no tool has is unchanged.
    """
    known = {tool["function"]["name"] for tool in tools}
    meant = {found for found in NAME.findall(name) if found in known} if name not in known else set()
    return meant.pop() if len(meant) == 1 else name


def mend_surrogates(text: str) -> str:
    """A text without half surrogate pairs: two halves that meet are one character, one alone is U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _object(arguments: object) -> str:
    """Arguments as JSON text: as the model wrote them, but valid if they were encoded twice or had line breaks."""
    if not isinstance(arguments, str):
        return json.dumps({} if arguments is None else arguments, ensure_ascii=False)
    try:
        value = foreign.parse_json(arguments)
    except ValueError:
        value = arguments
    with suppress(ValueError):
        value = foreign.parse_json(value, strict=False) if isinstance(value, str) else None
    return json.dumps(value, ensure_ascii=False) if isinstance(value, dict) else arguments
