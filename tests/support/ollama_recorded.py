"""What a real Ollama 0.33.0-rc2 was asked and said, as bytes; and an httpx transport that says it again."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import httpcore
import httpx

FOLDER = Path(__file__).parents[1] / "models" / "recorded" / "ollama-0.33.0-rc2"
NAMES = sorted(file.stem for file in FOLDER.glob("*.request"))
USUAL = ("version", "tags", "ps-nothing-loaded", "not-found")


@dataclass(frozen=True)
class Exchange:
    """A request, and what the server answered. A body that does not end as it should is as far as it came."""

    method: str
    path: str
    sent: bytes
    raw: bytes
    status: int
    headers: httpx.Headers
    body: bytes

    @property
    def asked(self) -> Any:
        """The request's body."""
        return json.loads(self.sent or b"null")

    @property
    def lines(self) -> list[Any]:
        """The objects of the answer, one a line."""
        return [json.loads(line) for line in self.body.splitlines()]

    @property
    def done(self) -> Any:
        """The last line of a reply that ends as it should; else None."""
        return next((line for line in self.lines if line.get("done")), None)


@cache
def exchange(name: str) -> Exchange:
    """The exchange of this name."""
    head, _, sent = (FOLDER / f"{name}.request").read_bytes().partition(b"\r\n\r\n")
    method, path, _ = head.split(b"\r\n")[0].decode().split(" ")
    raw = (FOLDER / f"{name}.response").read_bytes()
    return answered(method, path, sent, raw, transport=ReplyPiece(lambda _: raw))


def answered(
    method: str, path: str, sent: bytes, raw: bytes = b"", url: str = "http://server", transport: Any = None
) -> Exchange:
    """What a server at this address, or behind a transport, answers to a request."""
    body = b""
    with (
        httpx.Client(base_url=url, transport=transport, trust_env=False) as client,
        client.stream(method, path, content=sent) as response,
    ):
        with suppress(httpx.RemoteProtocolError):  # it was killed
            for piece in response.iter_bytes():
                body += piece
        return Exchange(method, path, sent, raw, response.status_code, response.headers, body)


class ReplyPiece(httpx.HTTPTransport):
    """A network on which a server answers each request with bytes, and closes; `packets` cuts them."""

    def __init__(
        self, answer: Callable[[httpx.Request], bytes], packets: Callable[[bytes], list[bytes]] = lambda raw: [raw]
    ) -> None:
        super().__init__(verify=False)
        self._answer = answer
        self._packets = packets

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        arriving = self._packets(self._answer(request))
        self._pool = httpcore.ConnectionPool(network_backend=httpcore.MockBackend(arriving))
        return super().handle_request(request)


def again(*names: str, packets: Callable[[bytes], list[bytes]] = lambda raw: [raw]) -> ReplyPiece:
    """The recorded server: it says these exchanges, each at its own path, and what it was beside them."""
    said = {each.path: each.raw for each in map(exchange, (*USUAL, *names))}

    def answer(request: httpx.Request) -> bytes:
        if request.url.path == "/api/show" and "/api/show" not in said:
            return exchange(f"show-{json.loads(request.content)['model'].partition(':')[0]}").raw
        return said.get(request.url.path, said["/api/nothing"])

    return ReplyPiece(answer, packets)
