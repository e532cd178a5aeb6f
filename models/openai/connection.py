"""A connection to an OpenAI-compatible server: its address, its key, and its answers as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from agent import foreign
from agent.background import pause
from models.openai import api_key
from models.openai.errors import CHAT, START, refusal, unreadable
from models.server import ServerOptions
from models.wire import http
from models.wire.bounds import Allowance, Bounds

if TYPE_CHECKING:
    import httpx

JSON = {"Content-Type": "application/json"}


class Connection:
    """Sends requests to the server at an address, with the key.

    Args:
        url: Its address without /v1; "" before it is there.
        transport: Carries the requests instead of the network.
        sleep: Waits for so many seconds before a busy server is asked again.
        sends_key: Off for an address that the user has not named: no key goes there.
        bounds: Of each answer that is no reply of a model.

    Attributes:
        key: Sent instead of the user's, where it is set.
    """

    def __init__(
        self,
        url: str,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], object] = pause,
        sends_key: bool = True,
        bounds: Bounds | None = None,
    ) -> None:
        self.url = url
        self.sends_key = sends_key
        self.key = ""
        self.sleep = sleep
        self.bounds = bounds or ServerOptions().answer
        self._transport = transport

    def allowance(self, bounds: Bounds | None = None) -> Allowance:
        """What an answer may use."""
        return Allowance(bounds or self.bounds, self.url)

    def client(self, allowance: Allowance) -> httpx.Client:
        """An HTTP client that sends the key, where it may. Raises ModelError."""
        headers = api_key.headers(self.url) if self.sends_key else {}
        headers |= {"Authorization": f"Bearer {self.key}"} if self.key else {}
        return http.client(self.url, allowance, self._transport, headers)

    def asked(self, path: str) -> Any:
        """The JSON at a path. Raises ModelError."""
        return self.parsed(self.fetched(path))

    def fetched(self, path: str) -> bytes:
        """The body at a path. Raises ModelError."""
        allowance = self.allowance()
        with (
            self.as_model_errors(allowance),
            self.client(allowance) as client,
            client.stream("GET", path) as response,
        ):
            return self.read(response, allowance)

    def read(self, response: httpx.Response, allowance: Allowance, model: str = "", route: str = CHAT) -> bytes:
        """The body of a response. `route` is named if there is no such path. Raises ModelError."""
        body = http.whole(response, allowance)
        if response.status_code in (401, 403) and not self.sends_key and api_key.origin():
            raise api_key.kept_back(self.url)
        if response.status_code != 200:
            said = body.decode(errors="replace")
            raise refusal(response.status_code, said, model, self.url, response.headers, route)
        return body

    def parsed(self, body: bytes) -> Any:
        """A body as JSON, without the key. Raises ModelError if it is not JSON."""
        try:
            return foreign.read(api_key.hidden(body.decode(json.detect_encoding(body), "surrogatepass")))
        except ValueError as error:
            raise unreadable(body, self.url) from error

    @contextmanager
    def as_model_errors(self, allowance: Allowance) -> Iterator[None]:
        """Raise a ModelError for each error of httpx."""
        with http.as_model_errors(self.url, allowance.bounds.quiet_seconds, START):
            yield


def encoded(body: Any) -> bytes:
    """A request as JSON in UTF-8. Half a surrogate pair, which is no character and which servers refuse, becomes ?."""
    return json.dumps(body, ensure_ascii=False, default=dict).encode("utf-8", "replace")
