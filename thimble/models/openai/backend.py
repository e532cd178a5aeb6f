"""A session's model on an OpenAI-compatible server, through `/v1/chat/completions`."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Sequence
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from thimble.agent import foreign
from thimble.agent.errors import ModelError
from thimble.agent.messages import Message, Schema
from thimble.agent.protocols import Backend, Delta, Expects, Sent, Thinking
from thimble.models.openai import wire
from thimble.models.openai.connection import Connection
from thimble.models.openai.errors import CHAT, refusal_error, unreadable_error
from thimble.models.server import (
    THINKING_TOKENS,
    CallUnreadable,
    OptionRefused,
    ServerOptions,
    largest_budget,
    too_small,
)
from thimble.models.wire import api_key, http
from thimble.models.wire.address import hide_login
from thimble.models.wire.bounds import Allowance
from thimble.models.wire.calls import call_ids
from thimble.models.wire.connection import encode_body
from thimble.models.wire.retry import retry_busy
from thimble.models.wire.text import ReplyText

if TYPE_CHECKING:
    from thimble.models.openai.counter import ServerCounter
    from thimble.models.openai.server import OpenAIServer


def backend(server: OpenAIServer, model: str, room: int) -> OpenAIBackend:
    """A backend for a model of this server. Never raises: the first request will raise any error."""
    context = server.context(model)  # this also finds the server's name
    made = OpenAIBackend(server.name, model, server.connection, needed=room, context=context, options=server.options)
    made.parameters = server.parameters(model)
    return made


class OpenAIBackend(Backend):
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

    renders_tools = shapes = True
    parameters: int | None = None
    """The number of the model's parameters; None if unknown."""
    longer = ", or start the server with a longer context"
    """Another fix for a prompt that leaves no room for a reply."""

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
        self._thinks = False
        self._plain = False

    @cached_property
    def counter(self) -> ServerCounter:
        """Counts tokens with the server's tokenizer, if it offers one."""
        from thimble.models.openai.counter import ServerCounter

        return ServerCounter(self._connection, self.model, self._thinking())

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Schema],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        expects: Expects = "turn",
        shape: Schema | None = None,
    ) -> Generator[Delta, None, None]:
        """Stream one reply: text, thinking and whole tool calls in order, then one `Usage`.

        Closing it closes the connection, so the server stops computing. A temperature given here, not by the user, is
        left out if the server refuses it.

        Raises:
            ToolsRefused: the server accepts no tools for this model.
            ModelError: the server cannot be used, or the prompt leaves no room for a reply.
        """
        wishes = {} if self._plain or temperature is None else {"temperature": temperature}
        plain = self._request(messages, tools, max_tokens)
        if tools and expects != "turn":
            plain["tool_choice"] = "none"
        if shape is not None:
            form = {"name": "turn", "schema": shape, "strict": True}
            plain["response_format"] = {"type": "json_schema", "json_schema": form}
        request = encode_body(plain | wishes)
        yield Sent(hide_login(f"{self._connection.url}{CHAT}"), request.decode())
        allowance = self._connection.allowance(self._options.reply)
        reply = partial(self._reply, request, messages, allowance)
        try:
            yield from retry_busy(reply, self._connection.sleep, allowance.seconds_left)
        except OptionRefused:
            if not wishes:
                raise
            self._plain = True  # from now on, too
            yield from self.stream(messages, tools, max_tokens=max_tokens, expects=expects, shape=shape)

    def rendered(self, messages: Sequence[Message], tools: Sequence[Schema]) -> str | None:
        """The prompt as the model reads it; None if the server does not report it. Raises ModelError."""
        return self.counter.rendered(messages, tools)

    @property
    def returns_thinking(self) -> bool:
        """Whether its replies have contained thinking, whose field is then known."""
        return bool(self._connection.thinking)

    def longest_prompt(self) -> int:
        """The longest prompt, in tokens, that leaves room for a reply."""
        return largest_budget(self.room, self._thinks)

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
        longer = f", or start the server with {flag} {needed}" if self.longer else ""
        return too_small(self.model, self.context, needed, self._thinks) + longer

    def _request(self, messages: Sequence[Message], tools: Sequence[Schema], max_tokens: int | None) -> dict[str, Any]:
        """The body of a chat request."""
        body = {
            "model": self.model,
            **wire.request_fields(messages, tools, self._connection.thinking),
            **self._thinking(),
            **self._options.sampling(),
        }
        wanted = None if max_tokens is None else max_tokens + (THINKING_TOKENS if self._thinks else 0)
        space = self._space(messages, tools, wanted or 1)
        if wanted is not None:
            body["max_tokens"] = wanted if space is None else min(wanted, space)
        if self._options.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return body

    def _thinking(self) -> dict[str, Any]:
        """The fields of a request about thinking: none, unless the user chose a setting."""
        effort = self._options.think
        fields = {"on": {}, "off": {"chat_template_kwargs": {"enable_thinking": False}}}
        return fields.get(effort, {"reasoning_effort": effort})

    def _space(self, messages: Sequence[Message], tools: Sequence[Schema], wanted: int) -> int | None:
        """Tokens that a reply may have after this prompt; None if the server does not report its context.

        Raises:
            ModelError: There is no room. Not raised for an estimate: then the server decides.
        """
        if self.context is None:
            return None
        counter = self.counter
        prompt = counter.overhead(tools) + sum(map(counter.count, messages))
        if prompt + wanted > self.context:
            prompt = counter.count_prompt(messages, tools) or prompt  # an exact count, since it matters here
        if prompt >= self.context and counter.exact:
            what = f"the prompt of {prompt:,} tokens leaves no room for a reply: {self.model} holds {self.context:,}"
            raise ModelError(what, http.LOWER_THE_BUDGET + self.longer)
        return max(1, self.context - prompt)

    def _reply(self, request: bytes, messages: Sequence[Message], allowance: Allowance) -> Generator[Delta, None, None]:
        """Send one request, and stream the reply. Raises Busy before its first word, ModelError after it."""
        reply, tags, events = wire.StreamedReply(call_ids(messages)), ReplyText(), wire.Events()
        with self._connection.open_response(CHAT, request, allowance, self.model) as response:
            kind = response.headers.get("content-type", "")
            if "json" in kind or "html" in kind:  # it comes in one piece
                chunk = self._connection.parse_json(http.read_body(response, allowance))
                yield from self._apart(tags, reply.add_chunk(self._sound(chunk, begun=False)))
                if not (reply.finish or reply.length):
                    raise http.stopped_error()
            else:
                for line in chain(http.read_stream_lines(response, allowance), [b""]):
                    field, data = events.add_line(line) or (b"", b"")
                    if data == wire.STREAM_DONE:
                        break
                    if data:
                        yield from self._apart(tags, reply.add_chunk(self._chunk(field, data, reply)))
                else:
                    if not reply.finish:
                        raise http.stopped_error()
            yield from self._apart(tags, reply.end())
            if self._thinks:
                self._connection.thinking = reply.thinking or self._connection.thinking or "content"

    def _apart(self, tags: ReplyText, deltas: Iterable[Delta]) -> list[Delta]:
        parts = [part for delta in deltas for part in tags.add_delta(delta)]
        self._thinks |= any(isinstance(part, Thinking) for part in parts)
        return parts

    def _chunk(self, field: bytes, data: bytes, reply: wire.StreamedReply) -> dict[str, Any]:
        """The chunk in an event."""
        try:
            chunk = foreign.parse_json(api_key.hide_key(data.decode()), strict=False)
        except ValueError as error:
            raise (http.stopped_error() if field else unreadable_error(data, self._connection.url)) from error
        return self._sound({"error": chunk} if field == b"error" else chunk, begun=reply.length > 0)

    def _sound(self, chunk: Any, *, begun: bool) -> dict[str, Any]:
        """The chunk, if it is valid. Raises ModelError for an error from the server, and for anything else."""
        error = chunk.get("error") if isinstance(chunk, dict) else None
        if error:
            code = error.get("code") if isinstance(error, dict) else None
            status = code if isinstance(code, int) and 400 <= code < 600 and not begun else 200
            refused = refusal_error(status, json.dumps({"error": error}), self.model, self._connection.url)
            told = not begun or isinstance(refused, CallUnreadable)
            raise refused if told else ModelError(refused.what, refused.fix)
        known = isinstance(chunk, dict) and {"choices", "usage"} & chunk.keys()
        if known and isinstance(chunk.get("choices"), list | None):
            return dict(chunk)
        raise unreadable_error(json.dumps(chunk).encode(), self._connection.url)
