"""A session's model on an OpenAI-compatible server, through `/v1/chat/completions`."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from agent import foreign
from agent.errors import ModelError
from agent.messages import Message, Schema
from agent.protocols import BackendDefaults, Delta, Sent, Thinking, Usage
from models.openai import model_list, wire
from models.openai.connection import JSON, Connection, encoded
from models.openai.errors import CHAT, NoModel, missing, refusal, unreadable
from models.openai.metrics import PrefixCache, prefix_cache
from models.server import THINKING_TOKENS, OptionRefused, ServerOptions, fitting
from models.wire import http
from models.wire.address import hidden
from models.wire.bounds import Allowance
from models.wire.retry import retried
from models.wire.thinking import apart

if TYPE_CHECKING:
    import httpx

    from models.openai.counter import ServerCounter
    from models.openai.server import OpenAIServer


CALL_TOKENS = (
    "<tool_call>",
    "[TOOL_CALLS]",
    "<|tool_call|>",
    "<|python_tag|>",
    "<|tool_call_start|>",
    "<|tool_calls_section_begin|>",
    "<｜tool▁calls▁begin｜>",
)
"""What begins a call in the templates of Qwen, Mistral, Granite and Phi, Llama, LFM2, Kimi and DeepSeek."""
NEVER = -100
"""The bias that rules a token out."""


class OpenAIBackend(BackendDefaults):
    """A model on an OpenAI-compatible server.

    The server's context is fixed when it starts, and it refuses longer prompts. So a request asks for a reply that fits
    after the prompt, and a prompt that leaves no room for a reply is not sent.

    Args:
        name: The kind of server: "vllm", or "openai" for any other.
        model: Name as /v1/models has it.
        connection: The connection to the server.
        needed: Tokens of prompt and reply that should fit.
        context: Tokens of prompt and reply that it can hold; None if unknown.
        options: Settings of the requests.
    """

    renders_tools = True

    def __init__(
        self,
        name: str,
        model: str,
        connection: Connection,
        *,
        needed: int,
        context: int | None = None,
        options: ServerOptions | None = None,
    ) -> None:
        self.name = name
        self.model = model
        self.context = context
        self.room = context or needed
        self._connection = connection
        self._needed = needed
        self._options = options or ServerOptions()
        self._reads_metrics = name == "vllm"
        self._thinks = False
        self._plain = False

    @classmethod
    def on(cls, server: OpenAIServer, model: str, needed: int) -> OpenAIBackend:
        """A backend for a model of this server. Never raises: the first request will raise any error."""
        context = server.context(model)  # this also finds the server's name
        return cls(server.name, model, server.connection, needed=needed, context=context, options=server.options)

    @cached_property
    def counter(self) -> ServerCounter:
        """Counts tokens as the server does, where it counts for us."""
        from models.openai.counter import ServerCounter

        return ServerCounter(self._connection, self.model, self._thinking())

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Schema],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        may_call: bool = True,
        shape: Schema | None = None,
    ) -> Generator[Delta, None, None]:
        """Stream one reply: text, thinking and whole tool calls in order, then one `Usage`.

        Closing it closes the connection, so the server stops computing. What is asked for here and not by the user, a
        temperature and no call, is left out where the server refuses it.

        Raises:
            ToolsRefused: the server accepts no tools for this model.
            ModelError: the server cannot be used, or the prompt leaves no room for a reply.
        """
        wishes = {} if self._plain else self._wishes(tools, temperature, may_call)
        request = self._request(messages, tools, max_tokens) | _shaped(shape)
        try:
            yield from self._answered(request | wishes, messages)
        except OptionRefused:
            if not wishes:
                raise
            self._plain = True
            yield from self._answered(request, messages)

    def _answered(self, body: Mapping[str, Any], messages: Sequence[Message]) -> Generator[Delta, None, None]:
        """The reply to a request, as it streams, and its usage."""
        request = encoded(body)
        yield Sent(hidden(f"{self._connection.url}{CHAT}"), request.decode())
        before = prefix_cache(self._connection) if self._reads_metrics else None
        allowance = self._connection.allowance(self._options.reply)
        asks = partial(self._reply, request, messages, allowance)
        left = allowance.seconds_left
        with closing(retried(asks, sleep=self._connection.sleep, seconds_left=left)) as deltas:
            for delta in deltas:
                yield self._completed(delta, before) if isinstance(delta, Usage) else delta

    @property
    def ruled_out(self) -> Sequence[str]:
        """The tokens that begin a call in the model's own template; () where the server does not tell their numbers."""
        return () if self._plain else tuple(self.counter.numbers(CALL_TOKENS))

    def _wishes(self, tools: Sequence[Schema], temperature: float | None, may_call: bool) -> dict[str, Any]:
        """The fields of a request that only this call needs."""
        wishes = {} if temperature is None else {"temperature": temperature}
        numbers = {} if may_call or not tools else self.counter.numbers(CALL_TOKENS)
        return wishes | ({"logit_bias": {str(number): NEVER for number in numbers.values()}} if numbers else {})

    def digest(self) -> str:
        """The address of the server and the name of the model there."""
        return f"{self._connection.url} {self.model}"

    def rendered(self, messages: Sequence[Message], tools: Sequence[Schema]) -> str | None:
        """The prompt as the model reads it; None where the server does not tell. Raises ModelError."""
        return self.counter.rendered(messages, tools)

    def with_room(self, tokens: int) -> OpenAIBackend:
        """Itself: a server's context does not grow while it runs."""
        self._needed = tokens
        return self

    def check(self) -> str:
        """A warning of one line if the model holds less than the budget may need; else ""."""
        needed = self._needed - (0 if self._thinks else THINKING_TOKENS)
        if self.context is None or self.context >= needed:
            return ""
        flag = "--max-model-len" if self.name == "vllm" else "-c"
        return (
            f"{self.model} holds {self.context:,} tokens of prompt and reply, and this budget wants up to {needed:,}: "
            f"/budget {fitting(self.context)}, or start the server with {flag} {needed}"
        )

    def _request(self, messages: Sequence[Message], tools: Sequence[Schema], max_tokens: int | None) -> dict[str, Any]:
        """The body of a chat request."""
        body: dict[str, Any] = {"model": self.model, "messages": list(map(wire.sent, messages)), **self._thinking()}
        body |= self._options.sampling()
        if tools:
            body["tools"] = list(tools)
        wanted = None if max_tokens is None else max_tokens + (THINKING_TOKENS if self._thinks else 0)
        space = self._space(messages, tools, wanted or 1)
        if wanted is not None:
            body["max_tokens"] = wanted if space is None else min(wanted, space)
        if self._options.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return body

    def _thinking(self) -> dict[str, Any]:
        """The fields of a request about thinking: none, unless the user chose a setting."""
        match self._options.think:
            case "on":
                return {}
            case "off":
                return {"chat_template_kwargs": {"enable_thinking": False}}
            case effort:
                return {"reasoning_effort": effort}

    def _space(self, messages: Sequence[Message], tools: Sequence[Schema], wanted: int) -> int | None:
        """Tokens that a reply may have after this prompt; None if the server does not report its context.

        Raises:
            ModelError: There are none. Not by an estimate: then the server may say so.
        """
        if self.context is None:
            return None
        counter = self.counter
        prompt = counter.overhead(tools) + sum(map(counter.count, messages))
        if prompt + wanted > self.context:
            prompt = counter.whole(messages, tools) or prompt  # an exact count, since it matters here
        if prompt >= self.context and counter.exact:
            what = f"the prompt of {prompt:,} tokens leaves no room for a reply: {self.model} holds {self.context:,}"
            raise ModelError(what, f"{http.LOWER}, or start the server with a longer context")
        return max(1, self.context - prompt)

    def _reply(self, request: bytes, messages: Sequence[Message], allowance: Allowance) -> Generator[Delta, None, None]:
        """Send one request, and stream the reply."""
        reply = wire.Reply(wire.call_ids(messages))
        with (
            self._connection.as_model_errors(allowance),
            self._connection.client(allowance) as client,
            client.stream("POST", CHAT, content=request, headers=JSON) as response,
        ):
            for delta in apart(self._deltas(response, reply, allowance)):
                self._thinks = self._thinks or isinstance(delta, Thinking)
                yield delta

    def _deltas(self, response: httpx.Response, reply: wire.Reply, allowance: Allowance) -> Iterator[Delta]:
        """The deltas of a response, streamed or whole."""
        kind = response.headers.get("content-type", "")
        whole = response.status_code != 200 or "json" in kind or "html" in kind
        for chunk in [self._whole(response, allowance)] if whole else self._chunks(response, reply, allowance):
            yield from reply.take(chunk)
        yield from reply.end()

    def _whole(self, response: httpx.Response, allowance: Allowance) -> dict[str, Any]:
        """A reply that comes in one piece."""
        try:
            body = self._connection.read(response, allowance, self.model)
        except NoModel as error:
            names = []
            with suppress(ModelError):
                names = [str(entry["id"]) for entry in model_list.listed(self._connection)]
            raise missing(self.model, names) from error
        return self._sound(body, self._connection.parsed(body), begun=False)

    def _chunks(self, response: httpx.Response, reply: wire.Reply, allowance: Allowance) -> Iterator[dict[str, Any]]:
        """The chunks of a stream, up to its end. Raises ModelError for one that ends too early."""
        lines = http.lines(response.iter_bytes(), blanks=True)
        for field, data in wire.events(http.alive(lines, allowance)):
            if data == wire.DONE:
                return
            try:
                chunk = foreign.read(data)
            except ValueError as error:
                raise (http.stopped() if field else unreadable(data, self._connection.url)) from error
            yield self._sound(data, {"error": chunk} if field == b"error" else chunk, begun=reply.length > 0)
            allowance.said = reply.length
        if not reply.finish:
            raise http.stopped()

    def _sound(self, data: bytes, chunk: Any, *, begun: bool) -> dict[str, Any]:
        """The chunk, if it is valid. Raises ModelError for an error from the server, and for anything else."""
        error = chunk.get("error") if isinstance(chunk, dict) else None
        if error:
            code = error.get("code") if isinstance(error, dict) else None
            status = code if isinstance(code, int) and 400 <= code < 600 and not begun else 200
            refused = refusal(status, json.dumps({"error": error}), self.model, self._connection.url)
            raise ModelError(refused.what, refused.fix) if begun else refused
        if not isinstance(chunk, dict) or not isinstance(chunk.get("choices"), list):
            raise unreadable(data, self._connection.url)
        return chunk

    def _completed(self, usage: Usage, before: PrefixCache | None) -> Usage:
        """The usage, with the cached tokens from the metrics if the reply does not report them."""
        if usage.cached_tokens is not None or before is None:
            self._reads_metrics = False
            return usage
        after = prefix_cache(self._connection)
        return replace(usage, cached_tokens=after.found(before, usage.prompt_tokens) if after else None)


def _shaped(shape: Schema | None) -> dict[str, Any]:
    """The field of a request that enforces the schema of the reply."""
    if shape is None:
        return {}
    return {
        "response_format": {"type": "json_schema", "json_schema": {"name": "turn", "schema": shape, "strict": True}}
    }
