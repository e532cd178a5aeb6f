"""The chat-completions form of messages: what other programs write, and what OpenAI-compatible servers take."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.errors import UsageError
from agent.messages import Message, Role, ToolCall

ROLES: Mapping[object, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
}
MESSAGES = "give a list of chat-completions messages: {role, content, tool_calls, tool_call_id}"


def read(entries: object) -> list[Message]:
    """Messages from their chat-completions form; their ids are their places: m1, m2 and so on.

    A content of several parts becomes its text; a part that is no text, such as an image, is named in brackets.

    Raises:
        UsageError: it is not a list of messages; says which entry is wrong.
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


def write(message: Message) -> dict[str, Any]:
    """A message in its chat-completions form."""
    entry: dict[str, Any] = {"role": message.role, "content": message.content}
    if message.calls:
        entry["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in message.calls
        ]
    if message.role == "tool":
        entry["tool_call_id"] = message.call_id
    return entry


def _message(entry: object, number: int) -> Message:
    if not isinstance(entry, Mapping):
        raise UsageError(f"message {number} is not an object", MESSAGES)
    if entry.get("role") not in ROLES:
        known = ", ".join(map(str, ROLES))
        raise UsageError(f"message {number} has the role {str(entry.get('role'))[:40]!r}", f"the roles are {known}")
    return Message(
        id=f"m{number}",
        role=ROLES[entry["role"]],
        content=_text(entry.get("content"), number),
        calls=tuple(_call(call, number) for call in _list(entry.get("tool_calls"), number, "tool_calls")),
        call_id=_string(entry.get("tool_call_id")),
        name=_string(entry.get("name")),
    )


def _call(call: object, number: int) -> ToolCall:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise UsageError(f"message {number} has a tool call without a function name", MESSAGES)
    arguments = function.get("arguments", "{}")
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(_string(call.get("id")), function["name"], text)


def _text(content: object, number: int) -> str:
    if content is None or isinstance(content, str):
        return content or ""
    return "\n".join(_part(part, number) for part in _list(content, number, "content"))


def _part(part: object, number: int) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, Mapping):
        raise UsageError(f"message {number} has a content that is no text", MESSAGES)
    text = part.get("text", part.get("refusal"))
    return text if isinstance(text, str) else f"[{_string(part.get('type')) or 'part'}]"


def _list(value: object, number: int, name: str) -> Sequence[object]:
    if value is None:
        return ()
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise UsageError(f"message {number}: {name} is not a list", MESSAGES)
    return value


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
