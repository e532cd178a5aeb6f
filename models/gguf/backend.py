"""A session's model in a process of this machine, reached as any OpenAI-compatible server is."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING

import httpx

from agent.errors import ModelError
from agent.messages import Message, Schema
from agent.protocols import Delta, Waiting
from models.gguf import is_file
from models.gguf.child import Child
from models.gguf.header import read_header
from models.gguf.local_model import LocalModel
from models.openai.backend import OpenAIBackend
from models.openai.connection import Connection
from models.server import ServerOptions, fitting
from models.wire import http

if TYPE_CHECKING:
    from models.wire.bounds import Allowance


class GgufBackend(OpenAIBackend):
    """A model of this machine. Its process is started when it is first asked, and anew where it was killed.

    Args:
        model: The model.
        child: Its process, which other backends may use too.
        needed: Tokens of prompt and reply that should fit; it has so many, or those that it was trained for.
        options: Settings of the requests.

    Raises ModelError for a file that is no model.
    """

    longer = ""

    def __init__(self, model: LocalModel, child: Child, needed: int, options: ServerOptions) -> None:
        self._trained = read_header(model.path).context
        self._child, self._pictures = child, model.pictures
        connection = _ToChild(child, options)
        room = min(needed, self._trained)
        super().__init__("gguf", model.name, connection, needed=needed, context=room, options=options)

    def loading(self) -> Iterator[Waiting]:
        """Start the process, if it does not run with enough room; meanwhile the model is waited for.

        Raises ModelError.
        """
        if not self._child.runs(self.room):
            yield Waiting(f"loading {self._child.path.name if is_file(self.model) else self.model}")
            self._child.start(self.room)

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Schema],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        may_call: bool = True,
    ) -> Generator[Delta, None, None]:
        """Stream one reply, as `OpenAIBackend` does. Raises ModelError, also where the process was killed."""
        yield from self.loading()
        try:
            yield from super().stream(
                messages, tools, max_tokens=max_tokens, temperature=temperature, may_call=may_call
            )
        except ModelError as error:
            raise error if self._child.runs() else self._child.died() from error

    def with_room(self, tokens: int) -> GgufBackend:
        """The same model with this much room, as far as it was trained for it; the process starts anew for more."""
        if tokens <= self._needed:
            return self
        roomy = copy(self)
        roomy._needed = tokens
        roomy.room = roomy.context = min(tokens, self._trained)
        return roomy

    def check(self) -> str:
        """A warning of one line if the model was trained for less than the budget may need, or has parts unused."""
        if self.room < self._enough():
            holds = f"{self.model} was trained for {self._trained:,} tokens of prompt and reply"
            return f"{holds}, and this budget wants up to {self._enough():,}: /budget {fitting(self._trained)}"
        return f"{self.model} reads no pictures here: that part of it is for Ollama alone" if self._pictures else ""


class _ToChild(Connection):
    """The connection to a process, wherever it listens by now. What is sent has its key."""

    def __init__(self, child: Child, options: ServerOptions) -> None:
        super().__init__("http://127.0.0.1", bounds=options.answer)
        self._child = child

    @property
    def is_open(self) -> bool:
        """Whether the process runs; asked in passing, as to count, it is not started."""
        return self._child.runs()

    def client(self, allowance: Allowance) -> httpx.Client:
        """An HTTP client of the process."""
        return http.client(self.url, allowance, _Transport(self._child))


class _Transport(httpx.HTTPTransport):
    def __init__(self, child: Child) -> None:
        super().__init__(verify=http.no_tls())
        self._child = child

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        if not self._child.runs():
            raise httpx.ConnectError("it does not run", request=request)
        request.url = httpx.URL(self._child.url).copy_with(raw_path=request.url.raw_path)
        request.headers["Authorization"] = f"Bearer {self._child.key}"
        return super().handle_request(request)
