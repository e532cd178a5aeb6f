"""The way to a model server, of whatever kind: its address, and its answers within bounds."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from thimble.agent import foreign
from thimble.agent.background import pause
from thimble.agent.errors import ModelError
from thimble.models.wire import http
from thimble.models.wire.bounds import ASK_SECONDS, ASK_WHOLE_SECONDS, Allowance, Bounds

if TYPE_CHECKING:
    import httpx


class ServerConnection(ABC):
    """Sends requests to the server at an address. Each failure is a ModelError.

    Args:
        url: The address; "" before it is there.
        transport: Carries the requests instead of the network.
        sleep: Waits for so many seconds before a busy server is asked again.
        bounds: Of each answer that is no reply of a model.
    """

    start: str
    """How to start such a server."""

    def __init__(
        self,
        url: str,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], object] = pause,
        bounds: Bounds | None = None,
    ) -> None:
        self.url = url
        self.sleep = sleep
        self.bounds = bounds or Bounds(ASK_SECONDS, ASK_WHOLE_SECONDS)
        self._transport = transport

    @abstractmethod
    def refused(self, response: httpx.Response, said: str, model: str) -> ModelError:
        """The error for a response that refuses a request; `model` is that of the request."""

    @abstractmethod
    def unreadable(self, body: bytes) -> ModelError:
        """The error for an answer that such a server would not send."""

    def headers(self) -> Mapping[str, str]:
        """What is sent with each request. Raises ModelError."""
        return {}

    def allowance(self, bounds: Bounds | None = None) -> Allowance:
        """What an answer may use."""
        return Allowance(bounds or self.bounds, self.url)

    @contextmanager
    def answered(self, path: str, content: bytes | None, allowance: Allowance) -> Iterator[httpx.Response]:
        """The response to a request, whatever its status; without a content it is a GET. Raises ModelError."""
        with http.opened(self.url, path, content, self.headers(), allowance, self.start, self._transport) as response:
            yield response

    @contextmanager
    def opened(
        self, path: str, content: bytes | None, allowance: Allowance, model: str = ""
    ) -> Iterator[httpx.Response]:
        """The response to a request that was accepted, its body still to come. Raises ModelError."""
        with self.answered(path, content, allowance) as response:
            if response.status_code != 200:
                raise self.refused(response, http.whole(response, allowance).decode(errors="replace"), model)
            yield response

    def asked(self, path: str, body: Any = None, model: str = "", bounds: Bounds | None = None) -> Any:
        """The answer to a request as JSON. Raises ModelError."""
        allowance = self.allowance(bounds)
        with self.opened(path, None if body is None else encoded(body), allowance, model) as response:
            return self.parsed(http.whole(response, allowance))

    def parsed(self, body: bytes) -> Any:
        """A body as JSON. Raises ModelError if it is none."""
        try:
            return foreign.read(body)
        except ValueError as error:
            raise self.unreadable(body) from error


def encoded(body: Any) -> bytes:
    """A request as JSON in UTF-8. Half a surrogate pair, which is no character and which servers refuse, becomes ?."""
    return json.dumps(body, ensure_ascii=False, default=dict).encode("utf-8", "replace")
