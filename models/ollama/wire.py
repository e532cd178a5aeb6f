"""The wire format of `/api/chat`: messages in requests, and deltas and usage from the lines of its replies."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from agent.chat import UNREADABLE
from agent.messages import Message, ToolCall
from agent.protocols import Delta, Text, Thinking, Usage
from models.ollama.errors import unreadable
from models.wire.calls import arguments, given
from models.wire.http import figure


def prompt(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The messages of a request.

    The first is a system message, empty if necessary. Otherwise the server would add the SYSTEM text of the model's
    Modelfile, which is neither wanted nor counted.
    """
    first = [] if messages and messages[0].role == "system" else [{"role": "system", "content": ""}]
    return [*first, *map(sent, messages)]


def sent(message: Message) -> dict[str, Any]:
    """A message of a request. Thinking is left out: it is not part of the conversation."""
    body: dict[str, Any] = {"role": message.role, "content": message.content or ""}
    if message.calls:
        body["tool_calls"] = [
            {"id": call.id, "function": {"name": call.name or UNREADABLE, "arguments": arguments(call)}}
            for call in message.calls
        ]
    if message.role == "tool":
        body |= {"tool_name": message.name or UNREADABLE, "tool_call_id": message.call_id}
    return body


def deltas(chunk: dict[str, Any], taken: set[str]) -> Iterator[Delta]:
    """The deltas in one line of the reply. The ids of its tool calls are added to `taken`, the ids in use."""
    message = chunk.get("message") or {}
    if not isinstance(message, dict):
        raise unreadable(json.dumps(chunk).encode())
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
    """The usage in the last line; None for values that it leaves out.

    For a cached prompt, early servers left out the prompt's count or sent 0.
    """
    reason = chunk.get("done_reason")
    prompt, cached = figure(chunk.get("prompt_eval_count")) or None, figure(chunk.get("prompt_eval_cached_count"))
    return Usage(
        prompt_tokens=prompt,
        cached_tokens=cached if prompt is not None and cached is not None and cached <= prompt else None,
        output_tokens=figure(chunk.get("eval_count")),
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


def _seconds(chunk: dict[str, Any], key: str) -> float | None:
    nanoseconds = figure(chunk.get(key))
    return None if nanoseconds is None else nanoseconds / 1e9
