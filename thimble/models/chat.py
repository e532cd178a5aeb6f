"""The chat-completions form of messages, as other programs write it and OpenAI-compatible servers accept it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, repeat
from typing import Any

from thimble.agent.errors import UsageError
from thimble.agent.messages import Message, Role, Schema, ToolCall
from thimble.agent.repair import Repaired, repair
from thimble.models.text_observations import read_observations, write_as_text
from thimble.models.wire.calls import make_sendable

Entry = Mapping[str, Any]
"""One message as other programs write it, with any other keys that they add."""

KNOWN_ROLES: Mapping[object, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}
KEY_TREATMENT: Mapping[object, str] = {
    "reasoning_content": "thinking",
    "reasoning": "thinking",
    "reasoning_details": "thinking",
    "thinking": "thinking",
    "thinking_blocks": "thinking",
    "redacted_thinking": "thinking",
    "image": "image",
    "images": "image",
    "image_url": "image",
    "input_image": "image",
    "audio": "refused",
    "parts": "refused",
    "tool_use": "refused",
    "tool_result": "refused",
}
"""The treatment of other keys of a message, and of the types of its content parts.

Thinking and images are counted, and passed on unchanged. A part of another type needs a text.
"""
IMAGE_TOKENS = 1_105
"""Tokens of an image, whatever its size: those of 2,048 x 4,096 pixels by OpenAI's rule (85, and 170 for each tile)."""
MESSAGES = "give a list of chat-completions messages: {role, content, tool_calls, tool_call_id}"
UNREADABLE = "unreadable"
"""The name for a call without a name, since servers require one."""
UNREADABLE_ARGUMENTS = "wrote arguments that no server can read as the object {_raw: text}"


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation of another program: its messages as written, the same repaired, and the tools of its model."""

    entries: Sequence[Entry]
    repaired: Repaired
    tools: Sequence[Schema] = ()


def read_conversation(document: object, observations: str | None = None) -> Conversation:
    """The conversation in a list of messages, or in an object with `messages`; a `system` next to them goes first.

    `observations` is a pattern of `read_observations`.

    Raises:
        UsageError: the document is not a conversation, or a part of it is not supported; the error names the part.
    """
    given: Mapping[str, Any] = document if isinstance(document, Mapping) else {"messages": document}
    entries = given.get("messages", given.get("traj"))
    if entries is None:
        raise UsageError(
            f"an object without `messages`; it has {', '.join(map(str, given)) or 'no keys':.80}", MESSAGES
        )
    functions = [{"type": "function", "function": function} for function in _as_list(given.get("functions"))]
    tools = _as_list(given.get("tools")) or functions
    if not all(isinstance(tool, Mapping) for tool in tools):
        raise UsageError("tools is not a list of objects", "give tools as a chat-completions server takes them")
    if given.get("system"):
        entries = [{"role": "system", "content": given["system"]}, *_as_list(entries)]
    messages = read_messages(entries)
    sent = [*map(make_sendable, messages)]
    repaired = repair(sent)
    for before, after in zip(messages, sent, strict=True):
        if before is not after:
            repaired.note(UNREADABLE_ARGUMENTS, after)
    repaired.messages = read_observations(repaired.messages, observations)
    return Conversation(entries, repaired, tools)


def read_messages(entries: object) -> list[Message]:
    """Messages from their chat-completions form; their ids are m1, m2 and so on, by position.

    A content of several parts becomes its text; an image becomes its name in brackets.

    Raises:
        UsageError: `entries` is not a list of messages; the error names the wrong entry.
    """
    if not isinstance(entries, list):
        raise UsageError("the messages are not a list", MESSAGES)
    called: dict[str, str] = {}
    messages = []
    for number, entry in enumerate(entries, 1):
        message = _message(entry, number)
        called.update((call.id, call.name) for call in message.calls if call.id)
        name = called.get(message.call_id, message.name)
        messages.append(message if name == message.name else replace(message, name=name))
    return messages


def write_message(message: Message, entry: Entry | None = None) -> dict[str, Any]:
    """A message in its chat-completions form, valid for a server.

    Args:
        message: The message to write.
        entry: The original form of the message, if any. Unchanged values are written as in the entry, unknown keys
            and content parts included; an entry without changes comes back equal.
    """
    message = write_as_text(message)
    before, written = _message(entry, 0) if entry else None, dict(entry or {})
    if not before or before.role != message.role or written["role"] == "function":
        written["role"] = message.role
    if before and before.thinking != message.thinking:
        written = {key: value for key, value in written.items() if KEY_TREATMENT.get(key) != "thinking"}
    same = before and (before.content, before.thinking) == (message.content, message.thinking)
    if not same or not _is_accepted(written.get("content"), message):
        written["content"] = message.content
        if message.thinking and not any(KEY_TREATMENT.get(key) == "thinking" for key in written):
            written["reasoning_content"] = message.thinking
    written.pop("function_call", None)
    if message.calls:
        own = chain(written.get("tool_calls") or (), repeat({}))  # a user's strategy may have put calls there
        written["tool_calls"] = list(map(_called, message.calls, own))
    else:
        written.pop("tool_calls", None)  # a server refuses an empty list
    if message.role != "tool":
        written.pop("tool_call_id", None)
    elif not before or before.call_id != message.call_id or "tool_call_id" not in written:
        written["tool_call_id"] = message.call_id
    return written


def _is_accepted(content: object, message: Message) -> bool:
    """Whether a server accepts this content of the message: text, typed parts, or none if there are calls."""
    if isinstance(content, list):
        return bool(content) and all(isinstance(part, Mapping) and part.get("type") for part in content)
    return content is not None or bool(message.calls)


def _called(call: ToolCall, entry: Entry) -> dict[str, Any]:
    function = {**entry.get("function", {}), "name": call.name or UNREADABLE, "arguments": call.arguments}
    return {**entry, "id": call.id, "type": "function", "function": function}


def _message(entry: object, number: int) -> Message:
    try:
        return _read(entry, f"m{number}")
    except ValueError as error:
        raise UsageError(f"message {number} {error}", MESSAGES) from error


def _read(entry: object, id_: str) -> Message:
    if not isinstance(entry, Mapping):
        raise ValueError("is not an object")
    role, content = entry.get("role"), entry.get("content")
    if not isinstance(role, str) or role not in KNOWN_ROLES:
        raise ValueError(f"has the role {str(role)[:40]!r}: the roles are {', '.join(map(str, KNOWN_ROLES))}")
    content = entry.get("refusal") if content is None else content
    said = [_part(part) for part in (content if isinstance(content, list) else [content or ""])]
    said += [_taken(key, one) for key in entry if key in KEY_TREATMENT for one in _as_list(entry[key])]
    old = entry.get("function_call")
    calls = _as_list(entry.get("tool_calls")) or [{"function": old}] * bool(old)
    if content is None and not calls and not any(words for _, words in said):
        raise ValueError(f"has neither content nor calls; it has {', '.join(map(str, entry)):.80}")
    return Message(
        id=id_,
        role=KNOWN_ROLES[role],
        content="\n".join(words for kind, words in said if kind != "thinking"),
        thinking="\n".join(dict.fromkeys(words for kind, words in said if words and kind == "thinking")),
        calls=tuple(map(_call, calls)),
        call_id=_string(entry.get("tool_call_id")),
        name=_string(entry.get("name")),
        attached=IMAGE_TOKENS * sum(kind == "image" for kind, _ in said),
    )


def _part(part: object) -> tuple[str, str]:
    """The treatment of a content part, as in `KEY_TREATMENT`, and its words."""
    if isinstance(part, str):
        return "text", part
    if not isinstance(part, Mapping):
        raise ValueError("has a content that is neither text nor a list of parts")
    if (name := _string(part.get("type"))) in KEY_TREATMENT:
        return _taken(name, part)
    text = part.get("text", part.get("refusal"))
    if not isinstance(text, str):
        raise ValueError(f"has a part {name!r:.40} without text, so its tokens cannot be counted")
    return "text", text


def _taken(name: str, value: object) -> tuple[str, str]:
    if KEY_TREATMENT[name] == "refused":
        raise ValueError(f"has {name}, which is not of the chat-completions form")
    return KEY_TREATMENT[name], _thinking_text(value) if KEY_TREATMENT[name] == "thinking" else f"[{name}]"


def _thinking_text(value: object) -> str:
    """The words of thinking: a text, or the texts of the parts that servers send, encrypted ones unchanged."""
    if isinstance(value, Mapping):
        value = [value.get(key) for key in ("thinking", "text", "summary", "reasoning", "data")]
    return "\n".join(filter(None, map(_thinking_text, value))) if isinstance(value, list) else _string(value)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


def _call(call: object) -> ToolCall:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(call, Mapping) or not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise ValueError("has a tool call without a function name")
    arguments = function.get("arguments") or {}
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(_string(call.get("id")), function["name"], text)


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""
