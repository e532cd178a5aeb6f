"""A model server that never ends a reply, and sees when its client goes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from tests.support import ollama_wire, openai_wire
from tests.support.failing_server import CHAT, NOT_FOUND, Answer, Front, path_of, rate_limited, says, says_json, starts
from thimble.models.ollama.backend import Ollama
from thimble.models.ollama.server import OllamaServer
from thimble.models.openai.backend import OpenAIBackend
from thimble.models.openai.connection import Connection

PATIENCE_SECONDS = 20.0
"""How long a test waits for what must happen; it happens within milliseconds."""
WORDS = {"ollama": b'{"message":{"content":"A"}}\n', "openai": openai_wire.chunk('"content":"A"')}
"""The beginning of a reply."""
OTHERS = {
    "ollama": {
        "/api/show": says("200 OK", ollama_wire.SHOW),
        "/api/tags": says("200 OK", ollama_wire.TAGS),
        "/api/ps": says_json("200 OK", {"models": []}),
        "/api/version": says_json("200 OK", {"version": "0.13.0"}),
    },
    "openai": {"/v1/models": says("200 OK", openai_wire.LLAMA_MODELS)},
}
"""The answers that are no reply."""


class Held:
    """Begins a reply with some bytes and then says nothing more, until its client goes; with None it is busy.

    `reached`: a client asks. `gone`: the client went. `open` counts the requests under way.
    """

    def __init__(self, kind: str, first: bytes | None) -> None:
        self.reached, self.gone, self.open = threading.Event(), threading.Event(), 0
        self._first, others = first, OTHERS[kind]
        self.front = Front(lambda request: self._chat if path_of(request) in CHAT else _other(others, request))
        url = self.front.url
        self.backend: Ollama | OpenAIBackend = (
            Ollama("qwen2.5:7b", OllamaServer(url))
            if kind == "ollama"
            else OpenAIBackend("openai", "tiny", Connection(url), needed=4_000)
        )

    def sees_the_client_go(self) -> None:
        """Wait until no request is under way."""
        assert self.gone.wait(PATIENCE_SECONDS)
        assert self.open == 0

    def _chat(self, connection: socket.socket, request: bytes) -> None:
        self.open += 1
        self.gone.clear()
        if self._first is None:
            rate_limited(20)(connection, request)
            self.reached.set()
        elif self._first:
            starts(self._first, self._wait)(connection, request)
        else:
            self._wait(connection, request)
        self.open -= 1
        self.gone.set()

    def _wait(self, connection: socket.socket, request: bytes) -> None:
        self.reached.set()
        connection.settimeout(PATIENCE_SECONDS)
        with suppress(ConnectionError):
            assert connection.recv(1) == b""


def _other(others: dict[str, Answer], request: bytes) -> Answer:
    return others.get(path_of(request), NOT_FOUND)


@contextmanager
def held(kind: str = "openai", first: bytes | None = b"") -> Iterator[Held]:
    """Such a server; by default it has not sent a byte."""
    server = Held(kind, first)
    try:
        yield server
    finally:
        server.front.stop()


def no_thread_is_left() -> None:
    """Every thread of a worker ends."""
    for thread in threading.enumerate():
        if thread.name == "memory":
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()
