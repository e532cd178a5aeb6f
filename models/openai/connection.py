"""The way to a server: one address, one key, and what it answers read whole or as a stream."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from models.openai import api_key
from models.openai.errors import START, refusal, unreadable
from models.wire import http

if TYPE_CHECKING:
    import httpx

JSON = {"Content-Type": "application/json"}


class Connection:
    """The way to the server at an address.

    Args:
        url: Its address without /v1.
        transport: Carries the requests instead of the network.
        sleep: Lets so many seconds pass before a busy server is asked again.
    """

    def __init__(
        self,
        url: str,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self.url = url
        self.sleep = sleep
        self._transport = transport

    def client(self, seconds: float = http.ASK_SECONDS) -> httpx.Client:
        """A client that shows the key. Raises ModelError."""
        return http.client(self.url, seconds, self._transport, api_key.headers(self.url))

    def asked(self, path: str) -> Any:
        """The JSON at a path. Raises ModelError."""
        return self.parsed(self.fetched(path))

    def fetched(self, path: str) -> bytes:
        """What is at a path. Raises ModelError."""
        with self.as_model_errors(http.ASK_SECONDS), self.client() as client, client.stream("GET", path) as response:
            return self.read(response)

    def read(self, response: httpx.Response, model: str = "") -> bytes:
        """The whole body of a response, at most 16 MB of it. Raises ModelError for one that refuses."""
        body = http.whole(response)
        if response.status_code != 200:
            raise refusal(response.status_code, body.decode(errors="replace"), model, self.url, response.headers)
        return body

    def parsed(self, body: bytes) -> Any:
        """JSON. Raises ModelError for what is none."""
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            raise unreadable(body, self.url) from error

    @contextmanager
    def as_model_errors(self, seconds: float) -> Iterator[None]:
        """Turn what httpx raises into ModelErrors."""
        with http.as_model_errors(self.url, seconds, START):
            yield


def encoded(body: Any) -> bytes:
    """A request as JSON in UTF-8. Half a surrogate pair, which is no character and which servers refuse, becomes ?."""
    return json.dumps(body, ensure_ascii=False, default=dict).encode("utf-8", "replace")
