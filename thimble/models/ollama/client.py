"""The client of the `ollama` package, over our own connection.

Import it late: it costs 0.15 s. The private names of the package are pinned by tests/models/ollama/test_client.py.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from importlib.util import find_spec, module_from_spec
from typing import TYPE_CHECKING, Any, cast

from thimble.agent import foreign
from thimble.models.wire import http
from thimble.models.wire.bounds import Allowance
from thimble.models.wire.connection import ServerConnection

if TYPE_CHECKING:
    from ollama._client import BaseClient, Client
else:
    # The package's `__init__` makes a client of its own from the environment, and fails if that cannot be used.
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
        allowance: The seconds and bytes that the answer may use.
        model: The model of the request, for errors; "" for none.
    """

    def __init__(self, server: ServerConnection, allowance: Allowance, model: str = "") -> None:
        BaseClient.__init__(self, lambda **_: _Connection(server, allowance, model), server.url)

    def ask(self, path: str, content: bytes | None) -> dict[str, Any]:
        """The answer in one piece; without a content the request is a GET."""
        answer: dict[str, Any] = self._request(dict, path, content, stream=False)
        return answer

    def stream(self, path: str, content: bytes) -> Generator[dict[str, Any], None, None]:
        """The lines of a streamed answer. Closing it closes the connection."""
        return cast("Generator[dict[str, Any], None, None]", self._request(dict, path, content, stream=True))


class _Connection:
    """The parts of an HTTP client and its response that the package uses, with our limits, errors and JSON parser."""

    def __init__(self, server: ServerConnection, allowance: Allowance, model: str) -> None:
        self._server, self._allowance, self._model = server, allowance, model

    def request(self, path: str, content: bytes | None) -> _Connection:
        with self.stream(path, content):
            body = http.read_body(self._response, self._allowance)
        self._answer = self._server.parse_json(body)
        if not isinstance(self._answer, dict):
            raise self._server.unreadable_answer(body)
        return self

    @contextmanager
    def stream(self, path: str, content: bytes | None) -> Iterator[_Connection]:
        with self._server.open_response(path, content, self._allowance, self._model) as self._response:
            yield self

    def raise_for_status(self) -> None:
        """Do nothing: opening a refused request has already raised."""

    def json(self) -> Any:
        return self._answer

    def iter_lines(self) -> Iterator[str]:
        for line in filter(bytes.strip, http.read_stream_lines(self._response, self._allowance)):
            try:
                answer = foreign.parse_json(line, strict=False)
            except ValueError as error:
                raise (
                    http.stopped_error() if line.startswith(b"{") else self._server.unreadable_answer(line)
                ) from error
            if not isinstance(answer, dict):
                raise self._server.unreadable_answer(line)
            if any(key.startswith("error") and answer[key] is not None for key in answer):
                raise self._server.refusal_error(self._response, json.dumps(answer), self._model)
            yield json.dumps(answer)
