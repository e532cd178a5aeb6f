"""The chat-completions form of messages, as other programs write it and OpenAI-compatible servers accept it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, repeat
from typing import Any

from thimble.agent.errors import UsageError
from thimble.agent.messages import Message, Role, ToolCall
from thimble.models.text_observations import as_written

Entry = Mapping[str, Any]
"""One message as other programs write it, with any other keys that they add."""

KNOWN_ROLES: Mapping[object, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
MESSAGES = "give a list of chat-completions messages: {role, content, tool_calls, tool_call_id}"
UNREADABLE = "unreadable"
"""The name for a call without a name, since servers require one."""
LEGACY = "write it as tool_calls, each with an id, and the result as role tool with its tool_call_id"
FOREIGN = ("tool_use", "tool_result")
"""Content parts that are calls and results in other formats; here they would be neither paired nor counted."""


def read(entries: object) -> list[Message]:
    """Messages from their chat-completions form; their ids are their places: m1, m2 and so on.

    A content of several parts becomes its text; a part without text, such as an image, becomes its name in brackets.

    Raises:
        UsageError: `entries` is not a list of messages; the error names the wrong entry.
    """
    if not isinstance(entries, Sequence) or isinstance(entries, str):
        raise UsageError("the messages are not a list", MESSAGES)
    called: dict[str, str] = {}
    messages = []
    for number, entry in enumerate(entries, 1):
        message = _message(entry, number)
        called.update((call.id, call.name) for call in message.calls)
        messages.append(replace(message, name=called.get(message.call_id, message.name)))
    return messages


def write(message: Message, entry: Entry | None = None) -> dict[str, Any]:
    """A message in its chat-completions form, valid for a server.

    Args:
        message: The message to write.
        entry: The original form of the message, if any. Unchanged values are written as in the entry, unknown keys
            and content parts included; an entry without changes comes back equal.
    """
    message = as_written(message)
    before, written = _message(entry, 0) if entry else None, dict(entry or {})
    if not before or before.role != message.role:
        written["role"] = message.role
    if not before or before.content != message.content or not _is_taken(written.get("content"), message):
        written["content"] = message.content
    if message.calls:
        own = chain(written.get("tool_calls") or (), repeat({}))  # a strategy of one's own may have put calls there
        written["tool_calls"] = list(map(_called, message.calls, own))
    else:
        written.pop("tool_calls", None)  # a server refuses an empty list
    if message.role != "tool":
        written.pop("tool_call_id", None)
    elif not before or before.call_id != message.call_id or "tool_call_id" not in written:
        written["tool_call_id"] = message.call_id
    return written


def _is_taken(content: object, message: Message) -> bool:
    """Whether a server accepts this content of the message: text, typed parts, or none if there are calls."""
    if isinstance(content, Sequence) and not isinstance(content, str):
        return bool(content) and all(
            isinstance(part, Mapping) and isinstance(part.get("type"), str) for part in content
        )
    return content is not None or bool(message.calls)


def _called(call: ToolCall, entry: Entry) -> dict[str, Any]:
    function = {**entry.get("function", {}), "name": call.name or UNREADABLE, "arguments": call.arguments}
    return {**entry, "id": call.id, "type": "function", "function": function}


def _message(entry: object, number: int) -> Message:
    if not isinstance(entry, Mapping):
        raise UsageError(f"message {number} is not an object", MESSAGES)
    role = entry.get("role")
    if role == "function" or entry.get("function_call"):
        raise UsageError(f"message {number} is in the old form of function calls", LEGACY)
    if not isinstance(role, str) or role not in KNOWN_ROLES:
        known = ", ".join(map(str, KNOWN_ROLES))
        raise UsageError(f"message {number} has the role {str(role)[:40]!r}", f"the roles are {known}")
    return Message(
        id=f"m{number}",
        role=KNOWN_ROLES[role],
        content=_text(entry.get("content"), number),
        calls=_calls(entry.get("tool_calls"), number),
        call_id=_string(entry.get("tool_call_id")),
        name=_string(entry.get("name")),
    )


def _calls(calls: object, number: int) -> tuple[ToolCall, ...]:
    if calls is not None and (not isinstance(calls, Sequence) or isinstance(calls, str)):
        raise UsageError(f"message {number}: tool_calls is no list", MESSAGES)
    return tuple(_call(call, number) for call in calls or ())


def _call(call: object, number: int) -> ToolCall:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise UsageError(f"message {number} has a tool call without a function name", MESSAGES)
    arguments = function.get("arguments")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments or {}, ensure_ascii=False)
    return ToolCall(_string(call.get("id")), function["name"], text)


def _text(content: object, number: int) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    if not isinstance(content, Sequence):
        raise UsageError(f"message {number}: content is neither text nor a list of parts", MESSAGES)
    return "\n".join(_part(part, number) for part in content)


def _part(part: object, number: int) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        raise UsageError(f"message {number} has a content that is no text", MESSAGES)
    if part.get("type") in FOREIGN:
        raise UsageError(f"message {number} holds a {part['type']}, which is another form", LEGACY)
    text = part.get("text", part.get("refusal"))
    return text if isinstance(text, str) else f"[{_string(part.get('type')) or 'part'}]"


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
