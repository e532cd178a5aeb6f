"""The client of the `ollama` package, over a connection of ours.

To be imported late: it costs 0.15 s. What is private of the package is pinned by tests/models/ollama/test_client.py.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING, Any

import httpx

from thimble.agent import foreign
from thimble.models.wire import http
from thimble.models.wire.bounds import Allowance
from thimble.models.wire.connection import ServerConnection

if TYPE_CHECKING:
    from ollama._client import BaseClient, Client
else:
    # The package's `__init__` makes a client of its own from the environment, and fails where that cannot be used.
    loaded = "ollama" in sys.modules
    if not loaded:
        sys.modules["ollama"] = module_from_spec(find_spec("ollama"))
    from ollama._client import BaseClient, Client

    if not loaded:
        del sys.modules["ollama"]  # a later import is a whole one


class OllamaClient(Client):
    """The package's Client for one answer, within an allowance. Each error is a ModelError.

    Args:
        server: The server that is asked.
        allowance: What the answer may use.
        model: The model of the request, for errors; "" for none.
    """

    def __init__(self, server: ServerConnection, allowance: Allowance, model: str = "") -> None:
        BaseClient.__init__(self, lambda **_: _Connection(server, allowance, model), server.url)

    def ask(self, path: str, content: bytes | None) -> dict[str, Any]:
        """The answer in one piece; without a content the request is a GET."""
        method = "GET" if content is None else "POST"
        answer: dict[str, Any] = self._request(dict, method, path, content=content, stream=False)
        return answer

    def stream(self, path: str, content: bytes) -> Iterator[dict[str, Any]]:
        """The lines of a streamed answer. Closing it closes the connection."""
        yield from self._request(dict, "POST", path, content=content, stream=True)


class _Connection:
    """What the package uses of an HTTP client, with our limits, errors and reading of JSON."""

    def __init__(self, server: ServerConnection, allowance: Allowance, model: str) -> None:
        self._server, self._allowance, self._model = server, allowance, model

    def request(self, method: str, path: str, content: bytes | None) -> httpx.Response:
        with self._server.opened(path, content, self._allowance, self._model) as response:
            content = http.whole(response, self._allowance)
            answer = self._server.parsed(content)
            if not isinstance(answer, dict):
                raise self._server.unreadable(content)
            return _Answer(answer, response.request)

    @contextmanager
    def stream(self, method: str, path: str, content: bytes) -> Iterator[httpx.Response]:
        with self._server.opened(path, content, self._allowance, self._model) as response:
            yield httpx.Response(200, content=self._lines(response), request=response.request)

    def _lines(self, response: httpx.Response) -> Iterator[bytes]:
        for line in filter(bytes.strip, http.lines(response, self._allowance)):
            try:
                answer = foreign.read(line)
            except ValueError as error:
                raise (http.stopped() if line.startswith(b"{") else self._server.unreadable(line)) from error
            if not isinstance(answer, dict):
                raise self._server.unreadable(line)
            if answer.get("error") is not None:
                raise self._server.refused(response, json.dumps(answer), self._model)
            yield json.dumps(answer).encode() + b"\n"  # in ASCII, since httpx ends a line at U+0085 too


class _Answer(httpx.Response):
    """A whole answer, which the package reads with `json`; it is parsed already."""

    def __init__(self, answer: dict[str, Any], request: httpx.Request) -> None:
        super().__init__(200, request=request)
        self._answer = answer

    def json(self, **_: Any) -> dict[str, Any]:
        return self._answer
