"""What goes over the wire: messages as `/api/chat` takes them, deltas and usage from the lines it answers with."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from agent.messages import Message, ToolCall
from agent.protocols import Delta, Text, Thinking, Usage
from models.calls import arguments, given
from models.http import stopped
from models.ollama.errors import unreadable


def sent(message: Message) -> dict[str, Any]:
    """A message as the server takes it. Thinking stays behind: it is not part of the conversation."""
    body: dict[str, Any] = {"role": message.role, "content": message.content or ""}
    if message.calls:
        body["tool_calls"] = [
            {"id": call.id, "function": {"name": call.name, "arguments": arguments(call)}} for call in message.calls
        ]
    if message.role == "tool":
        body |= {"tool_name": message.name, "tool_call_id": message.call_id}
    return body


def parsed(line: bytes) -> dict[str, Any]:
    """One line of a reply. Raises ModelError when it is not a JSON object, or only the beginning of one."""
    try:
        chunk = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise (stopped() if line.startswith(b"{") else unreadable(line)) from error
    if not isinstance(chunk, dict) or not isinstance(chunk.get("message") or {}, dict):
        raise unreadable(line)
    return chunk


def deltas(chunk: dict[str, Any], taken: set[str]) -> Iterator[Delta]:
    """What one line adds to the reply. Ids of its tool calls join `taken`, the ids that may not be used again."""
    message = chunk.get("message") or {}
    if thinking := message.get("thinking"):
        yield Thinking(str(thinking))
    if content := message.get("content"):
        yield Text(str(content))
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        raise unreadable(json.dumps(calls).encode())
    for call in calls:
        yield _call(call, taken)


def usage(chunk: dict[str, Any]) -> Usage:
    """The account in the last line; None is what it leaves out."""
    reason = chunk.get("done_reason")
    return Usage(
        prompt_tokens=_number(chunk, "prompt_eval_count"),
        cached_tokens=_number(chunk, "prompt_eval_cached_count"),
        output_tokens=_number(chunk, "eval_count"),
        load_seconds=_seconds(chunk, "load_duration"),
        prefill_seconds=_seconds(chunk, "prompt_eval_duration"),
        decode_seconds=_seconds(chunk, "eval_duration"),
        finish=reason if reason in ("stop", "length") else "",
    )


def _call(call: Any, taken: set[str]) -> ToolCall:
    """A whole tool call, with an id that no other call of the conversation has."""
    function = call.get("function") if isinstance(call, dict) else None
    if not isinstance(function, dict):
        raise unreadable(json.dumps(call).encode())
    return given(call.get("id"), function.get("name"), function.get("arguments"), taken)


def _number(chunk: dict[str, Any], key: str) -> int | None:
    """A figure of the account; None where it is none that a server can mean."""
    value = chunk.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 else None


def _seconds(chunk: dict[str, Any], key: str) -> float | None:
    nanoseconds = _number(chunk, key)
    return None if nanoseconds is None else nanoseconds / 1e9
