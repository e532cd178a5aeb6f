"""A connection to a model server of any kind: its address, and its answers within bounds."""

from __future__ import annotations

import json
import socket
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache, partial
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from thimble.agent import background, foreign
from thimble.agent.errors import ModelError
from thimble.models.wire import http
from thimble.models.wire.address import is_loopback
from thimble.models.wire.bounds import ASK_SECONDS, ASK_WHOLE_SECONDS, CONNECT_SECONDS, Allowance, Bounds

if TYPE_CHECKING:
    import ssl

    import httpx


class ServerConnection(ABC):
    """Sends requests to the server at an address. Each failure is a ModelError.

    Args:
        url: The address; "" until it is known.
        transport: Carries the requests instead of the network.
        sleep: Waits for a number of seconds before a busy server is asked again.
        bounds: The bounds of each answer other than a model's reply.
    """

    start: str
    """How to start such a server."""

    def __init__(
        self,
        url: str,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], object] = background.sleep_or_halt,
        bounds: Bounds | None = None,
    ) -> None:
        self.url = url
        self.sleep = sleep
        self.bounds = bounds or Bounds(ASK_SECONDS, ASK_WHOLE_SECONDS)
        self._transport = transport

    @abstractmethod
    def refusal_error(self, response: httpx.Response, said: str, model: str) -> ModelError:
        """The error for a response that refuses a request; `model` is that of the request."""

    @abstractmethod
    def unreadable_answer(self, body: bytes) -> ModelError:
        """The error for an answer that such a server would not send."""

    def headers(self) -> Mapping[str, str]:
        """The headers of each request, besides the usual ones. Raises ModelError."""
        return {}

    def allowance(self, bounds: Bounds | None = None) -> Allowance:
        """The allowance of one answer."""
        return Allowance(bounds or self.bounds, self.url)

    @contextmanager
    def open_response(
        self,
        path: str,
        content: bytes | None,
        allowance: Allowance,
        model: str = "",
        accepts: Container[int] = (200,),
    ) -> Iterator[httpx.Response]:
        """The response to a request that was accepted, its body not yet read; reading it uses up the allowance.

        No proxy is used to reach this machine, and certificates are loaded only for https.

        Args:
            path: The path of the request.
            content: The body, as JSON; without it this is a GET.
            allowance: The seconds and bytes that the answer may use.
            model: The model of the request, for errors.
            accepts: The statuses that are not a refusal.

        Raises:
            ModelError: For a refusal, each error of httpx, and certificates or a proxy that cannot be used.
        """
        sockets: list[socket.socket] = []
        ended = Event()
        client = _client(self.url, allowance.bounds.quiet_seconds, self._transport)
        Thread(
            target=_watch_deadline, args=(allowance, sockets, ended, background.current_stop_event()), daemon=True
        ).start()
        try:
            with (
                http.as_model_errors(self.url, allowance, self.start),
                client,
                client.stream(
                    "GET" if content is None else "POST",
                    path,
                    content=content,
                    headers={**self.headers(), "Content-Type": "application/json", "Accept-Encoding": "identity"},
                    extensions={"trace": partial(_note_socket, sockets)},
                ) as response,
            ):
                http.refuse_detours(response, self.url)
                if response.status_code not in accepts:
                    raise self.refusal_error(
                        response, http.read_body(response, allowance).decode(errors="replace"), model
                    )
                yield response
        finally:
            ended.set()

    def request_json(self, path: str, body: Any = None, model: str = "", bounds: Bounds | None = None) -> Any:
        """The answer to a request as JSON. Raises ModelError."""
        allowance = self.allowance(bounds)
        with self.open_response(path, None if body is None else encode_body(body), allowance, model) as response:
            return self.parse_json(http.read_body(response, allowance))

    def parse_json(self, body: bytes) -> Any:
        """A body as JSON. Raises ModelError if it is not JSON."""
        try:
            return foreign.parse_json(body)
        except ValueError as error:
            raise self.unreadable_answer(body) from error


def encode_body(body: Any) -> bytes:
    """A request as JSON in UTF-8. Half a surrogate pair, which servers refuse, becomes ?."""
    return json.dumps(body, ensure_ascii=False, default=dict).encode("utf-8", "replace")


def _client(base_url: str, seconds: float, transport: httpx.BaseTransport | None) -> httpx.Client:
    import httpx

    try:
        return httpx.Client(
            base_url=base_url,
            timeout=httpx.Timeout(seconds, connect=min(seconds, CONNECT_SECONDS)),
            transport=transport,
            trust_env=not is_loopback(base_url),
            verify=httpx.create_ssl_context() if base_url.startswith("https:") else make_plain_context(),
        )
    except OSError as error:
        raise ModelError(f"the trusted certificates cannot be read: {error}", http.CERTIFICATES) from error
    except (ImportError, ValueError, httpx.InvalidURL) as error:
        raise ModelError(f"the proxy in the environment cannot be used: {error}", http.NO_PROXY) from error


def _note_socket(sockets: list[socket.socket], name: str, info: Mapping[str, Any]) -> None:
    """Note the socket of each connection that is made."""
    if name in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
        sockets.append(info["return_value"].get_extra_info("socket"))


def _watch_deadline(allowance: Allowance, sockets: Sequence[socket.socket], ended: Event, halt: Event | None) -> None:
    """End the connection after the deadline, or when a call in the background is stopped."""
    while not ended.wait(background.SLICE_SECONDS):
        if allowance.seconds_left() <= 0 or (halt and halt.is_set()):
            for each in sockets:
                with suppress(OSError):
                    socket.socket.shutdown(each, socket.SHUT_RDWR)


@cache
def make_plain_context() -> ssl.SSLContext:
    """The context for addresses without TLS, made once: httpx wants one, and it takes as long as a short request."""
    import httpx

    return httpx.create_ssl_context(verify=False)
