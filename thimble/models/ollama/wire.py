"""The wire format of `/api/chat`: messages in requests, and deltas and usage from the lines of its replies."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from thimble.agent.messages import Message
from thimble.agent.protocols import Delta, Text, Thinking, Usage
from thimble.models.chat import UNREADABLE
from thimble.models.ollama.errors import unreadable_error
from thimble.models.text_observations import write_as_text
from thimble.models.wire.bounds import REPLY_CALLS, endless_error
from thimble.models.wire.calls import arguments, make_call
from thimble.models.wire.http import finish_reason, read_count

MAX_EQUAL_TOKENS = 30
"""Maximum run of equal tokens, ignoring blanks, that the guard accepts. Source: `llm/server.go`, 0.33.0."""


def request_messages(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """The messages of a request.

    The first is a system message, empty if necessary. Otherwise the server would add the SYSTEM text of the model's
    Modelfile, which is neither wanted nor counted.
    """
    first = [] if messages and messages[0].role == "system" else [{"role": "system", "content": ""}]
    return [*first, *map(request_message, messages)]


def request_message(message: Message) -> dict[str, Any]:
    """A message of a request."""
    message = write_as_text(message)
    body: dict[str, Any] = {"role": message.role, "content": message.content or ""}
    if message.thinking:
        body["thinking"] = message.thinking
    if message.calls:
        body["tool_calls"] = [
            {"id": call.id, "function": {"name": call.name or UNREADABLE, "arguments": arguments(call)}}
            for call in message.calls
        ]
    if message.role == "tool":
        body |= {"tool_name": message.name or UNREADABLE, "tool_call_id": message.call_id}
    return body


def read_deltas(line: Mapping[str, Any], taken: set[str]) -> list[Delta]:
    """The deltas in one line of the reply. The ids of its tool calls are added to `taken`, the ids in use.

    Raises ModelError for a line of another form.
    """
    message, said = line.get("message") or {}, list[Delta]()
    calls = message.get("tool_calls") or [] if isinstance(message, dict) else None
    if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
        raise unreadable_error(json.dumps(line).encode())
    if len(calls) > REPLY_CALLS:
        raise endless_error()
    if message.get("thinking"):
        said.append(Thinking(str(message["thinking"])))
    if message.get("content"):
        said.append(Text(str(message["content"])))
    for call in calls:
        function = call.get("function")
        if not isinstance(function, dict):
            raise unreadable_error(json.dumps(line).encode())
        said.append(make_call(call.get("id"), function.get("name"), function.get("arguments"), taken))
    return said


def stopped_by_guard(said: Sequence[Delta]) -> bool:
    """Whether Ollama's guard against repetition ended a reply of these deltas, each a token: it sends no last line."""
    last = [delta.text.strip() for delta in said[-MAX_EQUAL_TOKENS - 1 :] if isinstance(delta, Text | Thinking)]
    return len(last) > MAX_EQUAL_TOKENS and len(set(last)) == 1


def read_usage(line: Mapping[str, Any]) -> Usage:
    """The usage in the last line; None for values that it leaves out.

    For a cached prompt, early servers left out the prompt's count or sent 0.
    """
    prompt, cached = read_count(line.get("prompt_eval_count")) or None, read_count(line.get("prompt_eval_cached_count"))
    return Usage(
        prompt_tokens=prompt,
        cached_tokens=cached if prompt is not None and cached is not None and cached <= prompt else None,
        output_tokens=read_count(line.get("eval_count")),
        load_seconds=_seconds(line.get("load_duration")),
        prefill_seconds=_seconds(line.get("prompt_eval_duration")),
        decode_seconds=_seconds(line.get("eval_duration")),
        finish=finish_reason(line.get("done_reason")),
    )


def _seconds(nanoseconds: object) -> float | None:
    known = read_count(nanoseconds)
    return None if known is None else known / 1e9
