"""A session's model on an Ollama server, through `/api/chat`.

Ollama's compatible `/v1` is not used: it has no setting for the context window.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Sequence
from contextlib import closing, suppress
from functools import cached_property, partial
from time import monotonic
from typing import Any

from thimble.agent.budget import Counter
from thimble.agent.errors import ModelError, RepetitionDetected
from thimble.agent.messages import Message, Schema, ToolCall
from thimble.agent.protocols import Backend, Delta, Expects, Sent, Waiting
from thimble.models.ollama import wire
from thimble.models.ollama.model_info import ModelInfo, choose_think_level, keep_seconds
from thimble.models.ollama.server import CHAT, OllamaServer
from thimble.models.server import THINKING_TOKENS, largest_budget, too_small
from thimble.models.wire import http
from thimble.models.wire.address import hide_login
from thimble.models.wire.bounds import REPLY_CALLS, Allowance, endless_error
from thimble.models.wire.calls import call_ids
from thimble.models.wire.connection import encode_body
from thimble.models.wire.retry import retry_busy
from thimble.models.wire.text import ReplyText

CONTEXT_STEP_TOKENS = 16_384
"""The context grows in steps, because the server reloads the model for each new size."""


def backend(server: OllamaServer, model: str, room: int) -> Ollama:
    """A backend for a model of this server. Sends nothing."""
    return Ollama(model, server, room=room)


class Ollama(Backend):
    """A model on an Ollama server.

    A change of the context window reloads the model, for every client of the server. So a loaded window that is large
    enough is kept, and `shift` is left out, as by other clients. The server is told to refuse a prompt that is too
    long; by default it would cut it silently.

    Args:
        model: Name as `ollama list` shows it.
        server: The server, with the settings of its requests.
        room: Tokens of prompt and reply that must fit; the context window is the next larger step, or the loaded one.
        counter: Counts tokens; by default the best available one for the model.
    """

    name = "ollama"
    renders_tools = True
    shapes = True
    """The server can enforce a JSON schema."""

    def __init__(
        self,
        model: str,
        server: OllamaServer,
        *,
        room: int = CONTEXT_STEP_TOKENS,
        counter: Counter | None = None,
    ) -> None:
        self.model = model
        self.server = server
        self._needed = room
        self.room = round_up_context(room)
        self._counter = counter
        self._loaded_until = 0.0
        self._renders = True

    @cached_property
    def counter(self) -> Counter:
        """Counts tokens like this model, if the server reports its vocabulary."""
        from thimble.models.ollama.counter import OllamaCounter

        return self._counter or OllamaCounter(self.server, self.model, self.render)

    @property
    def tools(self) -> bool | None:
        """Whether the model accepts tools; None if the server does not say."""
        return self._info().can("tools")

    returns_thinking = True

    @property
    def parameters(self) -> int | None:
        """How many parameters the model has; None if the server does not say."""
        return self._info().parameters

    @property
    def context(self) -> int:
        """The requested context window in tokens: the room, or the model's maximum."""
        return min(self.room, self._info().context or self.room)

    def longest_prompt(self) -> int:
        """The longest prompt, in tokens, that leaves room for a reply."""
        return largest_budget(self.context, self._thinks())

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
        """Stream one reply: text, thinking and whole tool calls in order, then one `Usage`; `Sent` comes first.

        Closing it closes the connection, so the server stops computing. Raises ModelError.
        """
        if self._must_load():
            yield Waiting(f"loading {self.model}")
        request = encode_body(self._request(messages, tools, max_tokens, temperature, shape))
        yield Sent(hide_login(f"{self.server.url}{CHAT}"), request.decode())
        allowance = self.server.allowance(self.server.options.reply)
        reply = partial(self._reply, request, messages, allowance)
        yield from retry_busy(reply, self.server.sleep, allowance.seconds_left)
        self._loaded_until = monotonic() + keep_seconds(self.server.options.keep_alive)

    def rendered(self, messages: Sequence[Message], tools: Sequence[Schema]) -> str | None:
        """The prompt as the model reads it; None if the server does not report it. Raises ModelError.

        A loaded model is not reloaded. A server that does not know the field replies with one token.
        """
        return self.render(messages, tools, self.server.loaded(self.model) or self.context) if self._renders else None

    def render(self, messages: Sequence[Message], tools: Sequence[Schema], context: int) -> str | None:
        """Like `rendered`, with a context of this many tokens."""
        body = self._request(messages, tools, None)
        body["options"] |= {"num_ctx": context, "num_predict": 1}
        answer = self.server.ask(CHAT, body | {"stream": False, "_debug_render_only": True}, self.model)
        told = answer.get("_debug_info")
        prompt = told.get("rendered_template") if isinstance(told, dict) else None
        self._renders = isinstance(prompt, str)
        return prompt if self._renders else None

    def with_room(self, tokens: int) -> Ollama:
        """The same model with a context of at least this many tokens; itself if large enough."""
        if tokens <= max(self.room, self._needed):
            return self
        return Ollama(self.model, self.server, room=tokens, counter=self.counter)

    def check(self) -> str:
        """A warning of one line if the model is loaded with another context than the one needed; else ""."""
        loaded = None
        with suppress(ModelError):
            loaded = self.server.loaded(self.model)
        if not loaded or loaded >= self._enough():
            return ""
        if loaded == self.context:
            return too_small(self.model, loaded, self._enough(), self._thinks())
        return f"{self.model} is loaded with a context of {loaded:,} tokens, not the {self.context:,} asked for"

    def _reply(self, request: bytes, messages: Sequence[Message], allowance: Allowance) -> Generator[Delta, None, None]:
        """The reply to one request, as it streams. Raises Busy before its first line, ModelError after it."""
        taken, tags = call_ids(messages), ReplyText()
        said: deque[Delta] = deque(maxlen=wire.MAX_EQUAL_TOKENS + 1)
        calls = 0
        with closing(self.server.stream(CHAT, request, allowance, self.model)) as lines:
            for line in lines:
                new = wire.read_deltas(line, taken)
                said += new
                calls += sum(isinstance(delta, ToolCall) for delta in new)
                if calls > REPLY_CALLS:
                    raise endless_error()
                if line.get("done"):
                    new.append(wire.read_usage(line))
                for delta in new:
                    yield from tags.add_delta(delta)
                if line.get("done"):
                    return
        raise RepetitionDetected if wire.stopped_by_guard([*said]) else http.stopped_error()

    def _request(
        self,
        messages: Sequence[Message],
        tools: Sequence[Schema],
        max_tokens: int | None,
        temperature: float | None = None,
        shape: Schema | None = None,
    ) -> dict[str, Any]:
        """The body of a chat request."""
        options, alive = self.server.options, self.server.options.keep_alive
        body: dict[str, Any] = {
            "model": self.model,
            "messages": wire.request_messages(messages),
            "stream": options.stream,
            "options": {**options.sampling(temperature), "num_ctx": self.context},
            "keep_alive": int(alive) if alive.lstrip("-").isdecimal() else alive,
            "truncate": False,
        }
        if tools:
            body["tools"] = list(tools)
        if shape:
            body["format"] = shape
        thinks = choose_think_level(options.think, self.model, self._info())
        if thinks is not None:
            body["think"] = thinks
        if max_tokens is not None:
            body["options"]["num_predict"] = max_tokens + (THINKING_TOKENS if thinks else 0)
        return body

    def _must_load(self) -> bool:
        """Whether the server must load the model first; the server is asked only if that is possible.

        Also sets the context window: the loaded one, if it is large enough.
        """
        if monotonic() < self._loaded_until or self._info().remote:
            return False
        with suppress(ModelError):
            loaded = self.server.loaded(self.model)
            enough = min(self._enough(), self._info().context or self._needed)
            self.room = loaded if loaded and loaded >= enough else round_up_context(self._needed)
            return loaded is None or loaded not in (0, self.context)
        return False

    def _enough(self) -> int:
        """The tokens that must fit into the context: fewer for a model that does not think."""
        return self._needed - (0 if self._thinks() else THINKING_TOKENS)

    def _thinks(self) -> bool:
        """Whether its replies contain thinking."""
        return bool(choose_think_level(self.server.options.think, self.model, self._info()))

    def _info(self) -> ModelInfo:
        """The facts about the model; if the server does not answer, the chat request will raise the error."""
        with suppress(ModelError):
            return self.server.info(self.model)
        return ModelInfo()


def round_up_context(tokens: int) -> int:
    """The context window to ask for if this many tokens must fit."""
    return -(-tokens // CONTEXT_STEP_TOKENS) * CONTEXT_STEP_TOKENS
