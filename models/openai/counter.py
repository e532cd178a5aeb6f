"""Counting tokens by asking the server that will read them."""

from __future__ import annotations

import json
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol

from agent.errors import ModelError
from agent.messages import Message, Schema, ToolCall
from models.counting.choose import counter_for
from models.counting.message_counter import MessageCounter
from models.openai import wire
from models.openai.connection import JSON, Connection, encoded
from models.wire.http import ASK_SECONDS

if TYPE_CHECKING:
    import httpx

REST_SECONDS = 10.0
"""Seconds until a server that failed to count is asked again."""

# The smallest conversation around a message. Some templates require ids of nine letters.
_IDS = ("callaaaaa", "callbbbbb")
SYSTEM, USER, ASSISTANT = Message("s", "system", "x."), Message("u", "user", "x"), Message("a", "assistant", "x")
RESULTS = tuple(Message("t", "tool", "x", call_id=call_id) for call_id in _IDS)


PASSING = (429, 502, 503, 504)
"""Statuses that do not depend on the request."""


class Refused(Exception):
    """The server or the model's template does not accept these messages."""


class Tokenizer(Protocol):
    """Counts as one kind of server. Raises Refused for messages that it does not accept, ModelError on failure."""

    def prompt(self, messages: Sequence[Message], tools: Sequence[Schema] = ()) -> int:
        """Tokens of a whole prompt, up to where the reply begins."""

    def text(self, text: str) -> int:
        """Tokens of a text."""


class ServerCounter(MessageCounter):
    """Counts with the server's own tokenizer and chat template; by an estimate if it offers none.

    Templates write whole conversations. So the count of a message is the tokens that it adds to the smallest valid
    conversation. The part common to all conversations belongs to the overhead; the part common to several results
    belongs to the message with the calls. So the counts of a prompt's messages add up to the prompt.

    Args:
        connection: The way to the server.
        model: The model that will read the messages.
        thinking: The fields of requests about thinking, which templates may write into the prompt.
    """

    def __init__(self, connection: Connection, model: str, thinking: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self._tokenizer = _Finding(Asks(connection, {"model": model, **(thinking or {})}))
        self._estimate = counter_for(model)
        self._known: dict[tuple[Message, ...], int] = {}
        self._overheads: dict[str, int] = {}

    @property
    def exact(self) -> bool:  # type: ignore[override]
        """Whether the server counts for us now."""
        return self._tokenizer.found() is not None

    def count(self, message: Message) -> int:
        """Tokens of a message in a prompt, its role markers included; its thinking is not sent and not counted."""
        if self.exact:
            try:
                return super().count(message)
            except Refused:
                pass
            except ModelError:
                self._tokenizer.rest()
        return self._estimate.count(message)

    def overhead(self, tools: Sequence[Schema]) -> int:
        """Tokens of the schemas, of the template around them, and of the start of the reply."""
        if self.exact:
            try:
                return self._scaled(self._overhead(tools))
            except Refused:
                pass
            except ModelError:
                self._tokenizer.rest()
        return self._estimate.overhead(tools)

    def calibrate(self, counted: int, reported: int) -> bool:
        """Learn from the number of tokens that the server read."""
        return super().calibrate(counted, reported) if self.exact else self._estimate.calibrate(counted, reported)

    @property
    def learnt(self) -> Any:
        """Everything that `calibrate` has learnt in both counters, for restoring."""
        return super().learnt, self._estimate.learnt

    @learnt.setter
    def learnt(self, learnt: Any) -> None:
        (self._ratio, self._calibrated), self._estimate.learnt = learnt

    def whole(self, messages: Sequence[Message], tools: Sequence[Schema]) -> int | None:
        """Tokens of exactly this prompt; None if the server does not count."""
        tokenizer = self._tokenizer.found()
        try:
            return tokenizer.prompt(messages, tools) if tokenizer else None
        except (ModelError, Refused):
            return None

    def measured(self, message: Message) -> int:
        """Tokens that the message adds to a prompt. If the template refuses it alone, it costs its text and markers."""
        try:
            return max(0, self._added(message))
        except Refused:
            calls = [f'{{"name": "{call.name}", "arguments": {call.arguments}}}' for call in message.calls]
            return self._found().text("\n".join([message.content or "", *calls])) + self._short() - 1

    def _added(self, message: Message) -> int:
        match message.role:
            case "system":
                return self._prompt(message, USER) - self._once(SYSTEM, USER) + self._short()
            case "user":
                return self._prompt(SYSTEM, message) - self._once(SYSTEM, USER) + self._short()
            case "tool":
                before = (SYSTEM, USER, _calling(message.name or "f"))
                alone = replace(message, call_id=_IDS[0])
                return self._prompt(*before, alone) - self._once(*before, RESULTS[0]) + self._short_result()
            case _ if message.calls:
                results = [Message("t", "tool", "x", call_id=call.id, name=call.name) for call in message.calls]
                around = self._once(SYSTEM, USER) + len(results) * self._short_result()
                return self._prompt(SYSTEM, USER, message, *results) - around
            case _:
                return self._prompt(SYSTEM, USER, message, USER) - self._once(SYSTEM, USER) - self._short()

    def _overhead(self, tools: Sequence[Schema]) -> int:
        key = json.dumps(tools, default=dict)
        if key not in self._overheads:
            self._overheads[key] = self._found().prompt((SYSTEM, USER), tools) - 2 * self._short()
        return self._overheads[key]

    def _short(self) -> int:
        """Tokens of a system or user message of one letter: nearly all of them are markers."""
        try:
            return self._once(SYSTEM, USER, USER) - self._once(SYSTEM, USER)
        except Refused:  # the template requires alternating roles
            return (self._once(SYSTEM, USER, ASSISTANT, USER) - self._once(SYSTEM, USER)) // 2

    def _short_result(self) -> int:
        """Tokens of a result of one letter after another result."""
        both = (SYSTEM, USER, _calling("f", 2))
        try:
            return self._once(*both, *RESULTS) - self._once(*both, RESULTS[0])
        except Refused:
            return self._short()

    def _once(self, *messages: Message) -> int:
        """Tokens of a prompt; each one is counted only once."""
        if messages not in self._known:
            self._known[messages] = self._prompt(*messages)
        return self._known[messages]

    def _prompt(self, *messages: Message) -> int:
        return self._found().prompt(messages)

    def _found(self) -> Tokenizer:
        tokenizer = self._tokenizer.found()
        if tokenizer is None:
            raise Refused
        return tokenizer


def _calling(name: str, calls: int = 1) -> Message:
    return Message("c", "assistant", calls=tuple(ToolCall(call_id, name) for call_id in _IDS[:calls]))


class Asks:
    """Requests to a server over one open connection. `body` is part of each."""

    def __init__(self, connection: Connection, body: Mapping[str, Any]) -> None:
        self.body = body
        self._connection = connection
        self._client: httpx.Client | None = None

    def post(self, path: str, wanted: str, **body: Any) -> Any:
        """The value of `wanted` in the answer. Raises Refused if there is none, ModelError on failure."""
        with self._connection.as_model_errors(ASK_SECONDS):
            if self._client is None:
                self._client = self._connection.client()
                weakref.finalize(self, self._client.close)
            response = self._client.post(path, content=encoded({**self.body, **body}), headers=JSON)
        if response.status_code in PASSING:
            raise ModelError(f"the server failed with status {response.status_code}")
        answer = self._connection.parsed(response.content) if response.status_code == 200 else None
        if not isinstance(answer, dict) or wanted not in answer:
            raise Refused
        return answer[wanted]


class _Vllm:
    """vLLM: /tokenize accepts messages."""

    def __init__(self, asks: Asks) -> None:
        self._asks = asks
        kwargs = dict(asks.body.get("chat_template_kwargs", {}))
        if effort := asks.body.get("reasoning_effort"):  # /tokenize accepts it only as an argument of the template
            kwargs |= {"reasoning_effort": effort, "enable_thinking": True}
        self._kwargs = {"chat_template_kwargs": kwargs} if kwargs else {}

    def prompt(self, messages: Sequence[Message], tools: Sequence[Schema] = ()) -> int:
        """Tokens of a whole prompt."""
        body = {"messages": list(map(wire.sent, messages)), **({"tools": list(tools)} if tools else {}), **self._kwargs}
        return _number(self._asks.post("/tokenize", "count", **body, add_generation_prompt=True))

    def text(self, text: str) -> int:
        """Tokens of a text."""
        return _number(self._asks.post("/tokenize", "count", prompt=text, add_special_tokens=False))


class _Llama:
    """llama-server: it renders the prompt as text, and /tokenize accepts texts."""

    def __init__(self, asks: Asks) -> None:
        self._asks = asks

    def prompt(self, messages: Sequence[Message], tools: Sequence[Schema] = ()) -> int:
        """Tokens of a whole prompt."""
        body = {"messages": list(map(wire.sent, messages)), **({"tools": list(tools)} if tools else {})}
        prompt = self._asks.post("/apply-template", "prompt", **body)
        if not isinstance(prompt, str):
            raise Refused
        return self._tokens(prompt, begin=True)

    def text(self, text: str) -> int:
        """Tokens of a text."""
        return self._tokens(text, begin=False)

    def _tokens(self, text: str, *, begin: bool) -> int:
        tokens = self._asks.post("/tokenize", "tokens", content=text, add_special=begin, parse_special=True)
        return len(tokens) if isinstance(tokens, list) else _number(None)


class _Finding:
    """Finds the tokenizer of a server. After a failure it waits; a server without one is not asked again."""

    def __init__(self, asks: Asks) -> None:
        self._kinds: list[Tokenizer] = [_Vllm(asks), _Llama(asks)]
        self._known: Tokenizer | None = None
        self._resting_until = 0.0

    def found(self) -> Tokenizer | None:
        """The tokenizer, if it can be used now."""
        if monotonic() < self._resting_until:
            return None
        while self._known is None and self._kinds:
            try:
                self._kinds[0].prompt((SYSTEM, USER))
                self._known = self._kinds[0]
            except Refused:
                self._kinds.pop(0)
            except ModelError:
                self.rest()
                break
        return self._known

    def rest(self) -> None:
        """Wait before the next request."""
        self._resting_until = monotonic() + REST_SECONDS


def _number(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**40:
        raise Refused
    return value
