"""The wire format of `/v1/chat/completions`: messages in requests, and deltas and usage from its replies."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from thimble.agent.messages import Message, Schema
from thimble.agent.protocols import Delta, Text, Thinking, Usage
from thimble.models.chat import write_message
from thimble.models.wire.bounds import LINE_BYTES, REPLY_CALLS, endless_error
from thimble.models.wire.calls import make_call, make_sendable
from thimble.models.wire.http import finish_reason, read_count
from thimble.models.wire.text import CLOSE, OPEN

STREAM_DONE = b"[DONE]"
THOUGHTS = ("reasoning", "reasoning_content")
"""Fields of a reply that hold thinking."""
EVENT_LINES = 10_000
"""Maximum number of lines of data of one event."""


def request_fields(messages: Sequence[Message], tools: Sequence[Schema], thinking: str) -> dict[str, Any]:
    """The messages and tools of a request; without tools, the field is left out.

    `thinking` is the field that contained thinking in the server's replies: "content" for <think> tags, "" if none.
    """
    body: dict[str, Any] = {"messages": [request_message(message, thinking) for message in messages]}
    return body | {"tools": list(tools)} if tools else body


def request_message(message: Message, thinking: str) -> dict[str, Any]:
    """A message of a request, its thinking in this field; without a field, thinking is left out.

    Arguments other than an object are sent as an object, since templates read them.
    """
    written = write_message(replace(make_sendable(message), content=message.content or "", thinking=""))
    if not (thinking and message.thinking):
        return written
    tagged = f"{OPEN}\n{message.thinking}\n{CLOSE}\n\n{written['content']}"
    return written | {thinking: tagged if thinking == "content" else message.thinking}


class Events:
    """Puts the server-sent events of a stream together, a line at a time."""

    def __init__(self) -> None:
        self._data: list[bytes] = []
        self._length = 0

    def add_line(self, line: bytes) -> tuple[bytes, bytes] | None:
        """The event that ends with this line, if one does: the field that carries it, and its data.

        A line without a known field is data itself, so that a web page or plain JSON can be recognised. Some servers
        send no blank line between events: a value that follows a complete object starts another event.
        """
        name, _, value = line.partition(b":")
        value, whole = value.removeprefix(b" "), None
        if name == b"data":
            if self._data and self._data[-1].rstrip().endswith(b"}") and value.lstrip()[:1] in (b"{", b"["):
                whole = self._end()
            self._data.append(value)
            self._length += len(line)
            if self._length > LINE_BYTES or len(self._data) > EVENT_LINES:
                raise endless_error()
            return whole
        if not line and self._data:
            return self._end()
        if name == b"error":
            return name, value
        return (b"", line) if name not in (b"", b"event", b"id", b"retry") else None

    def _end(self) -> tuple[bytes, bytes]:
        whole, self._data, self._length = b"\n".join(self._data), [], 0
        return b"data", whole


@dataclass
class _Call:
    """A tool call, collected from its fragments."""

    id: str = ""
    name: str = ""
    arguments: list[str] = field(default_factory=list)


class StreamedReply:
    """A reply, collected from its chunks; `length` grows with each chunk that has content.

    `taken` are the ids in use, which its calls may not have. `thinking`: the field with its thinking, or "".
    """

    def __init__(self, taken: set[str]) -> None:
        self.finish = ""
        self.refused = False
        self.account: dict[str, Any] = {}
        self.timings: dict[str, Any] = {}
        self.length = 0
        self.thinking = ""
        self._taken = taken
        self._calls: list[_Call] = []
        self._numbered: dict[int, _Call] = {}

    def add_chunk(self, chunk: dict[str, Any]) -> list[Delta]:
        """The deltas in one chunk, or in a whole reply."""
        self.account = _object(chunk.get("usage")) or self.account
        self.timings = _object(chunk.get("timings")) or self.timings
        choices = chunk.get("choices")
        choice = _object(choices[0]) if isinstance(choices, list) and choices else {}
        delta = _object(choice.get("delta")) or _object(choice.get("message"))
        thoughts = {name: text for name in THOUGHTS if (text := _text(delta.get(name)))}
        self.thinking, thinking = next(iter(thoughts.items()), (self.thinking, ""))
        refusal = _text(delta.get("refusal"))
        self.refused = self.refused or bool(refusal)
        content = _text(delta.get("content")) + refusal
        self.length += len(thinking) + len(content)
        calls = delta.get("tool_calls")
        for fragment in calls if isinstance(calls, list) else ():
            if isinstance(fragment, dict):
                self._add(fragment)
        self.finish = _text(choice.get("finish_reason")) or self.finish
        return [*([Thinking(thinking)] if thinking else []), *([Text(content)] if content else [])]

    def end(self) -> list[Delta]:
        """The calls, which are now complete, then the usage."""
        calls = [make_call(call.id, call.name, "".join(call.arguments) or "{}", self._taken) for call in self._calls]
        return [*calls, self.usage()]

    def usage(self) -> Usage:
        """The server's report; None for values that it left out."""
        return Usage(
            prompt_tokens=read_count(self.account.get("prompt_tokens")),
            cached_tokens=self._cached(),
            output_tokens=read_count(self.account.get("completion_tokens")),
            prefill_seconds=_seconds(self.timings.get("prompt_ms")),
            decode_seconds=_seconds(self.timings.get("predicted_ms")),
            finish="refusal" if self.refused else finish_reason(self.finish),
        )

    def _cached(self) -> int | None:
        cached = read_count(_object(self.account.get("prompt_tokens_details")).get("cached_tokens"))
        return read_count(self.timings.get("cache_n")) if cached is None else cached

    def _add(self, fragment: dict[str, Any]) -> None:
        """Add a fragment to its call.

        Its call is the one with its index; without an index, the one with its id, or the last one. A name starts a new
        call if it has another id, or no index: some servers number all calls 0. It also does so if that call has
        arguments and another name, or if its arguments are complete and start again.
        """
        function, index = _object(fragment.get("function")), fragment.get("index")
        call_id, name = _text(fragment.get("id")), _text(function.get("name"))
        number = index if isinstance(index, int) else None
        same = [one for one in self._calls if call_id and one.id == call_id]
        last = next(reversed(same or self._calls), None)
        call = last if number is None else self._numbered.get(number)
        written = function.get("arguments")
        piece = written if isinstance(written, str) else "" if written is None else json.dumps(written)
        if call is None or (name and _is_another_call(call, call_id, number, name, piece)):
            if len(self._calls) == REPLY_CALLS:
                raise endless_error()
            call = _Call()
            self._calls.append(call)
            if number is not None:
                self._numbered[number] = call
        call.id = call.id or call_id
        if name and name != call.name and not call.arguments:
            call.name += name
        if piece:
            call.arguments.append(piece)
        self.length += len(name) + len(piece)


def _is_another_call(call: _Call, call_id: str, number: int | None, name: str, piece: str) -> bool:
    """Whether a fragment with a name belongs to another call than the one at its index."""
    if call_id != call.id if call_id and call.id else number is None:
        return True
    if not call.arguments:
        return False
    return name != call.name or (call.arguments[-1].rstrip().endswith("}") and piece.lstrip().startswith("{"))


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    """A text, or the text in a list of parts."""
    if isinstance(value, list):
        return "".join(_text(part.get("text")) for part in value if isinstance(part, dict))
    return value if isinstance(value, str) else ""


def _seconds(milliseconds: Any) -> float | None:
    known = isinstance(milliseconds, int | float) and not isinstance(milliseconds, bool)
    return milliseconds / 1e3 if known and 0 <= milliseconds < 1e12 else None
