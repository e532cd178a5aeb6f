"""A session's model behind an Ollama server, over `/api/chat`.

Not over Ollama's compatible `/v1`, which takes no context window.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from functools import cached_property
from time import monotonic
from typing import Any

from agent.budget import Counter
from agent.errors import ModelError
from agent.messages import Message, Schema
from agent.protocols import BackendDefaults, Delta, Sent, Usage, Waiting
from models.ollama import wire
from models.ollama.model_info import ModelInfo, keep_seconds, think
from models.ollama.server import OllamaServer
from models.server import THINKING_TOKENS
from models.wire import http, thinking
from models.wire.address import hidden
from models.wire.retry import retried

CONTEXT_STEP_TOKENS = 16_384
"""In steps, because another context makes the server load the model anew."""

CHAT = "/api/chat"
COUNTS_WITHOUT_CACHED = "0.30."
"""Versions whose count of a prompt leaves out what was cached, without saying how much that was."""


class Ollama(BackendDefaults):
    """A model behind an Ollama server.

    Its context window is asked for with every request and never changed, since a change reloads the model. The
    server is told to refuse a prompt that is too long, which it would otherwise cut in silence.

    Args:
        model: Name as `ollama list` shows it.
        server: Where it is and how it is spoken to.
        room: Tokens of prompt and reply that it must hold; the context window is the next larger step.
        options: Other options of the server, such as temperature and seed.
        counter: Counts tokens; by default the best at hand for the model.
    """

    name = "ollama"
    renders_tools = True

    def __init__(
        self,
        model: str,
        server: OllamaServer,
        *,
        room: int = CONTEXT_STEP_TOKENS,
        options: Mapping[str, Any] | None = None,
        counter: Counter | None = None,
    ) -> None:
        self.model = model
        self.server = server
        self.room = -(-room // CONTEXT_STEP_TOKENS) * CONTEXT_STEP_TOKENS
        self._options = dict(options or {})
        self._counter = counter
        self._loaded_until = 0.0

    @cached_property
    def counter(self) -> Counter:
        """Counts tokens as this model does, where its vocabulary is at hand."""
        from models.counting.choose import counter_for

        return self._counter or counter_for(self.model)

    @property
    def tools(self) -> bool | None:
        """Whether the model can be offered tools; None where the server does not tell."""
        return self._info().can("tools")

    @property
    def context(self) -> int:
        """The context window that is asked for, in tokens: the room, or all that the model has."""
        return min(self.room, self._info().context or self.room)

    def stream(
        self, messages: Sequence[Message], tools: Sequence[Schema], *, max_tokens: int | None = None
    ) -> Generator[Delta, None, None]:
        """Stream one reply: text, thinking and whole tool calls in order, then one `Usage`; before it, what was sent.

        Closing it closes the connection, and with that the server stops computing. Raises ModelError.
        """
        request = json.dumps(self._request(messages, tools, max_tokens))
        taken = {call.id for message in messages for call in message.calls}
        if self._must_load():
            yield Waiting(f"loading {self.model}")
        yield Sent(hidden(f"{self.server.url}{CHAT}"), request)
        yield from retried(lambda: self._reply(request, taken), sleep=self.server.sleep)
        self._loaded_until = monotonic() + keep_seconds(self.server.options.keep_alive)

    def with_room(self, tokens: int) -> Ollama:
        """The same model with a context that holds so many tokens; itself where it does already."""
        if tokens <= self.room:
            return self
        return Ollama(self.model, self.server, room=tokens, options=self._options, counter=self.counter)

    def check(self) -> str:
        """One line of warning where the model is loaded with another context than there must be room for."""
        loaded = None
        with suppress(ModelError):
            loaded = self.server.loaded(self.model)
        if not loaded or loaded >= self.room:
            return ""
        if loaded == self.context:
            return f"{self.model} holds {loaded:,} tokens of prompt and reply, and no more: see that the budget fits in"
        return f"{self.model} is loaded with a context of {loaded:,} tokens, not the {self.context:,} asked for"

    def _reply(self, request: str, taken: set[str]) -> Generator[Delta, None, None]:
        """The reply to one request, as it comes. Raises Busy before its first line, ModelError after it."""
        seconds = self.server.options.timeout_seconds
        with closing(self.server.replies(CHAT, request, seconds, self.model)) as chunks:
            yield from thinking.apart(self._deltas(chunks, set(taken)))

    def _deltas(self, chunks: Iterable[dict[str, Any]], taken: set[str]) -> Iterator[Delta]:
        said = 0
        alive = http.alive(chunks, lambda: said, self.server.url, self.server.options.timeout_seconds)
        for chunk in alive:
            if chunk.get("error") is not None:
                raise self.server.refused(200, json.dumps(chunk), self.model)
            found = list(wire.deltas(chunk, taken))
            said += len(found)
            yield from found
            if chunk.get("done"):
                yield self._truly(wire.usage(chunk))
                return
        raise http.stopped()

    def _request(self, messages: Sequence[Message], tools: Sequence[Schema], max_tokens: int | None) -> dict[str, Any]:
        """The body of a chat request."""
        options = self.server.options
        body: dict[str, Any] = {
            "model": self.model,
            "messages": wire.prompt(messages),
            "stream": options.stream,
            "options": {**self._options, "num_ctx": self.context},
            "keep_alive": int(options.keep_alive) if _is_whole(options.keep_alive) else options.keep_alive,
            "truncate": False,
            "shift": False,
        }
        if tools:
            body["tools"] = list(tools)
        thinks = think(options.think, self.model, self._info())
        if thinks is not None:
            body["think"] = thinks
        if max_tokens is not None:
            body["options"]["num_predict"] = max_tokens + (THINKING_TOKENS if thinks else 0)
        return body

    def _must_load(self) -> bool:
        """Whether the server has to load the model first; asked only where it may have to."""
        if monotonic() < self._loaded_until or self._info().remote:
            return False
        with suppress(ModelError):
            loaded = self.server.loaded(self.model)
            return loaded is None or loaded not in (0, self.context)
        return False

    def _truly(self, usage: Usage) -> Usage:
        """The account, without a count of the prompt that is not one."""
        if usage.prompt_tokens is None or usage.cached_tokens is not None:
            return usage
        with suppress(ModelError):
            if self.server.version().startswith(COUNTS_WITHOUT_CACHED):
                return replace(usage, prompt_tokens=None)
        return usage

    def _info(self) -> ModelInfo:
        """What is known of the model; without an answer the chat will say why."""
        with suppress(ModelError):
            return self.server.info(self.model)
        return ModelInfo()


def _is_whole(text: str) -> bool:
    return text.lstrip("-").isdecimal()
