"""A session's model on an Ollama server, through `/api/chat`.

Ollama's compatible `/v1` is not used: it has no setting for the context window.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import cached_property, partial
from time import monotonic
from typing import TYPE_CHECKING, Any

from agent.budget import Counter
from agent.errors import Circled, ModelError
from agent.messages import Message, Schema, ToolCall
from agent.protocols import BackendDefaults, Delta, Sent, Usage, Waiting
from models.ollama import guard, wire
from models.ollama.model_info import ModelInfo, keep_seconds, think
from models.ollama.server import CHAT, OllamaServer
from models.server import THINKING_TOKENS, fitting
from models.wire import http, thinking
from models.wire.address import hidden
from models.wire.bounds import REPLY_CALLS, Allowance, endless
from models.wire.retry import retried

if TYPE_CHECKING:
    from models.ollama.client import Line

CONTEXT_STEP_TOKENS = 16_384
"""The context grows in steps, because the server reloads the model for each new size."""

COUNTS_WITHOUT_CACHED = "0.30."
"""Versions that count a prompt without its cached part and do not report that part."""


class Ollama(BackendDefaults):
    """A model on an Ollama server.

    A change of the context window reloads the model, for every client of the server. So a window that is loaded and
    large enough is used as it is, and `shift`, which other clients leave out, is left out. The server must refuse a
    prompt that is too long; by default it would cut it silently.

    Args:
        model: Name as `ollama list` shows it.
        server: The server, with the settings of its requests.
        room: Tokens of prompt and reply that must fit; the context window is the next larger step, or the loaded one.
        counter: Counts tokens; by default the best available one for the model.
    """

    name = "ollama"
    renders_tools = True

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
        self.room = stepped(room)
        self._counter = counter
        self._loaded_until = 0.0
        self._renders = True

    @cached_property
    def counter(self) -> Counter:
        """Counts tokens as this model does, where the server tells how."""
        from models.ollama.counter import OllamaCounter

        return self._counter or OllamaCounter(self)

    @property
    def tools(self) -> bool | None:
        """Whether the model accepts tools; None if the server does not say."""
        return self._info().can("tools")

    def digest(self) -> str:
        """The digest of the model, "" if the server does not say. Raises ModelError."""
        return self.server.digest(self.model)

    @property
    def context(self) -> int:
        """The requested context window in tokens: the room, or the model's maximum."""
        return min(self.room, self._info().context or self.room)

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
        """Stream one reply: text, thinking and whole tool calls in order, then one `Usage`; `Sent` comes first.

        Closing it closes the connection, so the server stops computing. Raises ModelError.
        """
        taken = {call.id for message in messages for call in message.calls}
        if self._must_load():
            yield Waiting(f"loading {self.model}")
        request = json.dumps(self._request(messages, tools, max_tokens, temperature, shape))
        yield Sent(hidden(f"{self.server.url}{CHAT}"), request)
        allowance = Allowance(self.server.options.reply, self.server.url)
        asks = partial(self._reply, request, taken, allowance)
        yield from retried(asks, sleep=self.server.sleep, seconds_left=allowance.seconds_left)
        self._loaded_until = monotonic() + keep_seconds(self.server.options.keep_alive)

    def rendered(self, messages: Sequence[Message], tools: Sequence[Schema]) -> str | None:
        """The prompt as the model reads it; None where the server does not tell. Raises ModelError.

        Where the model is loaded it stays as it is. A server that does not know the field replies, with one token.
        """
        if not self._renders:
            return None
        body = self._request(messages, tools, None)
        body["options"] |= {"num_ctx": self.server.loaded(self.model) or self.context, "num_predict": 1}
        answer = self.server.ask(CHAT, body | {"stream": False, "_debug_render_only": True}, self.model)
        told = answer.get("_debug_info")
        prompt = told.get("rendered_template") if isinstance(told, dict) else None
        self._renders = isinstance(prompt, str)
        return prompt if isinstance(prompt, str) else None

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
            holds = f"{self.model} holds {loaded:,} tokens of prompt and reply"
            return f"{holds}, and this budget wants up to {self._enough():,}: /budget {fitting(loaded)}"
        return f"{self.model} is loaded with a context of {loaded:,} tokens, not the {self.context:,} asked for"

    def _reply(self, request: str, taken: set[str], allowance: Allowance) -> Generator[Delta, None, None]:
        """The reply to one request, as it streams. Raises Busy before its first line, ModelError after it."""
        with closing(self.server.chat(request, self.model, allowance)) as lines:
            yield from thinking.apart(self._deltas(lines, set(taken), allowance))

    def _deltas(self, lines: Iterable[Line], taken: set[str], allowance: Allowance) -> Iterator[Delta]:
        said: deque[Delta] = deque(maxlen=guard.MOST_EQUAL + 1)
        calls = 0
        for line in http.alive(lines, allowance):
            for delta in wire.deltas(line, taken):
                calls += isinstance(delta, ToolCall)
                if calls > REPLY_CALLS:
                    raise endless()
                said.append(delta)
                allowance.said += wire.length(delta)
                yield delta
            if line.done:
                yield self._truly(wire.usage(line))
                return
        raise Circled if guard.stopped([*said]) else http.stopped()

    def _request(
        self,
        messages: Sequence[Message],
        tools: Sequence[Schema],
        max_tokens: int | None,
        temperature: float | None = None,
        shape: Schema | None = None,
    ) -> dict[str, Any]:
        """The body of a chat request."""
        from models.ollama.client import Chat

        options = self.server.options
        body: dict[str, Any] = {
            "model": self.model,
            "messages": wire.prompt(messages),
            "stream": options.stream,
            "options": {**options.sampling(temperature), "num_ctx": self.context},
            "keep_alive": int(options.keep_alive) if _is_whole(options.keep_alive) else options.keep_alive,
            "truncate": False,
        }
        if tools:
            body["tools"] = list(tools)
        if shape:
            body["format"] = shape
        thinks = think(options.think, self.model, self._info())
        if thinks is not None:
            body["think"] = thinks
        if max_tokens is not None:
            body["options"]["num_predict"] = max_tokens + (THINKING_TOKENS if thinks else 0)
        return Chat(**body).model_dump(exclude_unset=True)

    def _must_load(self) -> bool:
        """Whether the server must load the model first; the server is asked only if that is possible.

        Settles the context window: the one that the model is loaded with, if what is needed fits in.
        """
        if monotonic() < self._loaded_until or self._info().remote:
            return False
        with suppress(ModelError):
            loaded = self.server.loaded(self.model)
            enough = min(self._enough(), self._info().context or self._needed)
            self.room = loaded if loaded and loaded >= enough else stepped(self._needed)
            return loaded is None or loaded not in (0, self.context)
        return False

    def _enough(self) -> int:
        """The tokens that must fit in: fewer for a model that does not think."""
        return self._needed - (0 if think(self.server.options.think, self.model, self._info()) else THINKING_TOKENS)

    def _truly(self, usage: Usage) -> Usage:
        """The usage, without a prompt count that is wrong."""
        if usage.prompt_tokens is None or usage.cached_tokens is not None:
            return usage
        with suppress(ModelError):
            if self.server.version().startswith(COUNTS_WITHOUT_CACHED):
                return replace(usage, prompt_tokens=None)
        return usage

    def _info(self) -> ModelInfo:
        """The facts about the model; if the server does not answer, the chat request will raise the error."""
        with suppress(ModelError):
            return self.server.info(self.model)
        return ModelInfo()


def stepped(tokens: int) -> int:
    """The context window that is asked for where so many tokens must fit in."""
    return -(-tokens // CONTEXT_STEP_TOKENS) * CONTEXT_STEP_TOKENS


def _is_whole(text: str) -> bool:
    return text.lstrip("-").isdecimal()
