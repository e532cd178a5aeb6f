"""A session's model in a local process, reached like any OpenAI-compatible server."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from copy import copy
from typing import Any

from thimble.agent.errors import ModelError
from thimble.agent.messages import Message, Schema
from thimble.agent.protocols import Delta, Waiting
from thimble.models.gguf.child import Child
from thimble.models.gguf.header import read_header
from thimble.models.gguf.server import LocalModel, LocalModels
from thimble.models.openai.backend import OpenAIBackend
from thimble.models.openai.connection import Connection
from thimble.models.server import ServerOptions


def backend(server: LocalModels, model: str, room: int) -> GgufBackend:
    """A backend for a model of this machine. Raises ModelError."""
    found = server.find_model(model)
    return GgufBackend(found, server.child(found), room, server.options)


class GgufBackend(OpenAIBackend):
    """A local model. Its process is started by the first request, and again if it was killed.

    Args:
        model: The model.
        child: Its process, which other backends may use too.
        needed: Tokens of prompt and reply that should fit; the room is at most the trained context.
        options: Settings of the requests.

    Raises ModelError for a file that is not a model.
    """

    longer = ""

    def __init__(self, model: LocalModel, child: Child, needed: int, options: ServerOptions) -> None:
        header = read_header(model.path)
        self._trained, self.tools, self.parameters = header.context, header.tools, header.parameters
        self._child, self._unused = child, model.unused
        context, connection = min(needed, self._trained), Connection("", bounds=options.answer)
        connection.sends_key = False
        super().__init__("gguf", model.name, connection, needed=needed, context=context, options=options)

    def loading(self) -> Iterator[Waiting]:
        """Start the process, unless it runs with enough room, and wait for the model. Raises ModelError."""
        if not self._child.is_running(self.room):
            yield Waiting(f"loading {self.model.rpartition('/')[2]}")
            self._child.start(self.room)
            self.counter.begin()
        self._connection.url, self._connection.key = self._child.url, self._child.key

    def with_room(self, tokens: int) -> GgufBackend:
        """The same model with this much room, or as much as it was trained for; more room restarts the process."""
        if tokens <= self._needed:
            return self
        roomy = copy(self)
        roomy._needed, roomy.context = tokens, min(tokens, self._trained)
        roomy.room = roomy.context
        return roomy

    def check(self) -> str:
        """A warning of one line if the budget may need more than the model's context, or if a part is not used."""
        unused = f"{self.model} runs without {self._unused}: only Ollama can use it" if self._unused else ""
        return super().check() or unused

    def stream(
        self, messages: Sequence[Message], tools: Sequence[Schema], **asked: Any
    ) -> Generator[Delta, None, None]:
        """Stream one reply. Raises ModelError, also if the process was killed."""
        yield from self.loading()
        try:
            yield from super().stream(messages, tools, **asked)
        except ModelError as error:
            if not self._child.has_ended():
                raise
            raise self._child.death_error() from error
