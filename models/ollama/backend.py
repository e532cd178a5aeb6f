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
from models.ollama import server, wire
from models.ollama.errors import refusal, said_plainly, stopped
from models.ollama.host import DEFAULT_URL

if TYPE_CHECKING:
    import httpx


class Ollama:
    """A model behind an Ollama server.

    Its context window is asked for with every request and never changed, since a change reloads the model. The
    server is told to refuse a prompt that is too long, which it would otherwise cut in silence.

    Args:
        model: Name as `ollama list` shows it.
        base_url: Address as `host_url` writes it.
        num_ctx: Context window to load the model with, in tokens; it holds prompt and reply.
        keep_alive: How long the model stays loaded after a reply, as Ollama writes it ("10m", "-1").
        timeout_seconds: Longest wait for the next piece of a reply; for the first, that is load and prefill.
        think: Whether a model that can think shall; others are not asked.
        options: Other options of the server, such as temperature and seed.
        counter: Counts tokens; by default the best at hand for the model.
        transport: Carries the requests instead of the network.
    """

    name = "ollama"
    renders_tools = True

    def __init__(
        self,
        model: str,
        base_url: str = DEFAULT_URL,
        *,
        num_ctx: int = 16_384,
        keep_alive: str = "10m",
        timeout_seconds: float = 300.0,
        think: bool = True,
        options: Mapping[str, Any] | None = None,
        counter: Counter | None = None,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        self.model = model
        self.base_url = base_url
        self.num_ctx = num_ctx
        self._keep_alive = keep_alive
        self._timeout_seconds = timeout_seconds
        self._think = think
        self._options = {**(options or {}), "num_ctx": num_ctx}
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
        import httpx

        body = json.dumps(self._request(messages, tools, max_tokens)).encode()
        taken = {call.id for message in messages for call in message.calls}
        timeout = httpx.Timeout(self._timeout_seconds, connect=10.0)
        with (
            said_plainly(self.base_url, self._timeout_seconds),
            httpx.Client(timeout=timeout, **server.client_options(self.base_url, self._transport)) as client,
            client.stream("POST", f"{self.base_url}/api/chat", content=body) as response,
        ):
            if response.status_code != 200:
                response.read()
                raise self._refused(response.status_code, response.text)
            for chunk in map(wire.parsed, wire.lines(response.iter_bytes())):
                if chunk.get("error") is not None:
                    raise self._refused(200, json.dumps(chunk))
                yield from wire.deltas(chunk, taken)
                if chunk.get("done"):
                    yield wire.usage(chunk)
                    return
        raise stopped()

    def loaded_context(self) -> int | None:
        """Context window, in tokens, that the model is loaded with; None where the server does not tell."""
        return server.loaded_context(self.model, self.base_url, self._transport)

    def check_context(self) -> str | None:
        """One line of warning where the model is loaded with another context than was asked for.

        None where all is well, or nobody knows. Ask after the first reply: only then is the model loaded.
        """
        loaded = None
        with suppress(ModelError):
            loaded = self.loaded_context()
        if loaded is None or loaded == self.num_ctx:
            return None
        return f"{self.model} is loaded with a context of {loaded:,} tokens, not the {self.num_ctx:,} asked for"

    def _request(self, messages: Sequence[Message], tools: Sequence[Schema], max_tokens: int | None) -> dict[str, Any]:
        """The body of a chat request."""
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [wire.sent(message) for message in messages],
            "stream": True,
            "options": self._options if max_tokens is None else {**self._options, "num_predict": max_tokens},
            "keep_alive": self._keep_alive,
            "truncate": False,
            "shift": False,
        }
        if tools:
            body["tools"] = list(tools)
        if "thinking" in self._able():
            body["think"] = self._think
            if "gpt-oss" in self.model:  # it always thinks, and takes nothing but how hard
                body["think"] = "medium" if self._think else "low"
        return body

    def _able(self) -> frozenset[str]:
        """The model's capabilities, asked for until they are known; without an answer the chat will say why."""
        if self._capabilities is None:
            with suppress(ModelError):
                self._capabilities = server.capabilities(self.model, self.base_url, self._transport)
        return self._capabilities or frozenset()

    def _refused(self, status: int, body: str) -> ModelError:
        """The error for a refused request; where the model is missing, it names those that are there."""
        error = refusal(status, body, self.model)
        if status == 404 and error.fix.startswith("ollama pull"):
            with suppress(ModelError):
                return server.missing(self.model, server.installed(self.base_url, self._transport))
        return error
