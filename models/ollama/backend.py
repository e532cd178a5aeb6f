"""A session's model behind an Ollama server, over `/api/chat`.

Not through Ollama's compatible `/v1`, which takes no context window, nor through its Python package, whose chat
request cannot say that a prompt must not be cut.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from agent.errors import ModelError
from agent.messages import Message
from agent.protocols import Counter, Delta, Schema
from models import http
from models.ollama import asking, wire
from models.ollama.errors import START, refusal
from models.server import THINKING_TOKENS, Manner

if TYPE_CHECKING:
    import httpx


CONTEXT_STEP_TOKENS = 16_384
"""In steps, because another context makes the server load the model anew."""


class Ollama:
    """A model behind an Ollama server.

    Its context window is asked for with every request and never changed, since a change reloads the model. The
    server is told to refuse a prompt that is too long, which it would otherwise cut in silence.

    Args:
        model: Name as `ollama list` shows it.
        base_url: Address as `host_url` writes it.
        room: Tokens of prompt and reply that it must hold; the context window is the next larger step.
        manner: How the server is spoken to.
        options: Other options of the server, such as temperature and seed.
        counter: Counts tokens; by default the best at hand for the model.
        transport: Carries the requests instead of the network.
    """

    name = "ollama"
    renders_tools = True

    def __init__(
        self,
        model: str,
        base_url: str,
        *,
        room: int = CONTEXT_STEP_TOKENS,
        manner: Manner | None = None,
        options: Mapping[str, Any] | None = None,
        counter: Counter | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.model = model
        self.base_url = base_url
        self.room = -(-room // CONTEXT_STEP_TOKENS) * CONTEXT_STEP_TOKENS
        self._manner = manner or Manner()
        self._options = {**(options or {}), "num_ctx": self.room}
        self._counter = counter
        self._transport = transport
        self._capabilities: frozenset[str] | None = None

    @property
    def counter(self) -> Counter:
        """Counts tokens as this model does, where its vocabulary is at hand."""
        if self._counter is None:
            from models.tokens import counter_for

            self._counter = counter_for(self.model)
        return self._counter

    def stream(
        self, messages: Sequence[Message], tools: Sequence[Schema], *, max_tokens: int | None = None
    ) -> Generator[Delta, None, None]:
        """Stream one reply: text, thinking and whole tool calls in order, then one `Usage`.

        Closing it closes the connection, and with that the server stops computing. Raises ModelError.
        """
        body = json.dumps(self._request(messages, tools, max_tokens)).encode()
        taken = {call.id for message in messages for call in message.calls}
        seconds = self._manner.timeout_seconds
        with (
            http.said_plainly(self.base_url, seconds, START),
            http.client(self.base_url, seconds, self._transport) as client,
            client.stream("POST", "/api/chat", content=body) as response,
        ):
            if response.status_code != 200:
                response.read()
                raise self._refused(response.status_code, response.text)
            for chunk in map(wire.parsed, http.lines(response.iter_bytes())):
                if chunk.get("error") is not None:
                    raise self._refused(200, json.dumps(chunk))
                yield from wire.deltas(chunk, taken)
                if chunk.get("done"):
                    yield wire.usage(chunk)
                    return
        raise http.stopped()

    def with_room(self, tokens: int) -> Ollama:
        """The same model with a context that holds so many tokens; itself where it does already."""
        if tokens <= self.room:
            return self
        options, counter = self._options, self.counter
        return Ollama(
            self.model,
            self.base_url,
            room=tokens,
            manner=self._manner,
            options=options,
            counter=counter,
            transport=self._transport,
        )

    def check(self) -> str:
        """One line of warning where the model is loaded with another context than was asked for."""
        loaded = None
        with suppress(ModelError):
            loaded = asking.loaded_context(self.model, self.base_url, self._transport)
        if loaded is None or loaded == self.room:
            return ""
        return f"{self.model} is loaded with a context of {loaded:,} tokens, not the {self.room:,} asked for"

    def _request(self, messages: Sequence[Message], tools: Sequence[Schema], max_tokens: int | None) -> dict[str, Any]:
        """The body of a chat request."""
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [wire.sent(message) for message in messages],
            "stream": True,
            "options": dict(self._options),
            "keep_alive": self._manner.keep_alive,
            "truncate": False,
            "shift": False,
        }
        if tools:
            body["tools"] = list(tools)
        thinks = self._thinks()
        if thinks is not None:
            body["think"] = thinks
        if max_tokens is not None:
            body["options"]["num_predict"] = max_tokens + (THINKING_TOKENS if thinks else 0)
        return body

    def _thinks(self) -> bool | str | None:
        """What the server is told of thinking: nothing for a model that cannot."""
        if "thinking" not in self._able():
            return None
        how = self._manner.think
        if "gpt-oss" in self.model:  # it always thinks, and takes nothing but how hard
            return {"on": "medium", "off": "low"}.get(how, how)
        return how != "off"

    def _able(self) -> frozenset[str]:
        """The model's capabilities, asked for until they are known; without an answer the chat will say why."""
        if self._capabilities is None:
            with suppress(ModelError):
                self._capabilities = asking.capabilities(self.model, self.base_url, self._transport)
        return self._capabilities or frozenset()

    def _refused(self, status: int, body: str) -> ModelError:
        """The error for a refused request; where the model is missing, it names those that are there."""
        error = refusal(status, body, self.model)
        if status == 404 and error.fix.startswith("ollama pull"):
            with suppress(ModelError):
                return asking.missing(self.model, asking.installed(self.base_url, self._transport))
        return error
