"""The wire format of `/api/chat`: messages in requests, and deltas and usage from the lines of its replies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from agent.messages import Message, ToolCall
from agent.protocols import Delta, Text, Thinking, Usage
from models.chat import UNREADABLE
from models.wire.calls import arguments, given

if TYPE_CHECKING:
    from models.ollama.client import Line


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


def deltas(line: Line, taken: set[str]) -> Iterator[Delta]:
    """The deltas in one line of the reply. The ids of its tool calls are added to `taken`, the ids in use."""
    message = line.message
    if message.thinking:
        yield Thinking(str(message.thinking))
    if message.content:
        yield Text(str(message.content))
    for call in message.tool_calls or ():
        yield given(call.id, call.function.name, call.function.arguments, taken)


def length(delta: Delta) -> int:
    """The characters of a delta; a call has at least one."""
    if isinstance(delta, ToolCall):
        return 1 + len(delta.name) + len(delta.arguments)
    return len(delta.text) if isinstance(delta, Text | Thinking) else 0


def usage(line: Line) -> Usage:
    """The usage in the last line; None for values that it leaves out.

    For a cached prompt, early servers left out the prompt's count or sent 0.
    """
    reason, prompt, cached = line.done_reason, line.prompt_eval_count or None, line.prompt_eval_cached_count
    return Usage(
        prompt_tokens=prompt,
        cached_tokens=cached if prompt is not None and cached is not None and cached <= prompt else None,
        output_tokens=line.eval_count,
        load_seconds=_seconds(line.load_duration),
        prefill_seconds=_seconds(line.prompt_eval_duration),
        decode_seconds=_seconds(line.eval_duration),
        finish="stop" if reason == "stop" else "length" if reason == "length" else "",
    )


def _seconds(nanoseconds: int | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / 1e9
