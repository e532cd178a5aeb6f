"""What real servers sent, as `tests/servers/record.py` kept it, and a transport that sends it again."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

FOLDER = Path(__file__).with_name("recorded")
PIECE = 7
"""Bytes in which a body is sent again: the borders fall within letters, lines and events."""


@dataclass(frozen=True)
class Exchange:
    """A request, and what a server answered."""

    method: str
    path: str
    status: int
    kind: str
    body: bytes

    def response(self, end: int | None = None) -> httpx.Response:
        """The answer; after `end` bytes of its body the connection breaks off, if that is given."""
        return httpx.Response(self.status, headers={"content-type": self.kind}, stream=Pieces(self.body, end))

    @property
    def chunks(self) -> list[Any]:
        """What the events of a stream hold, but the last, which says that it is done."""
        *events, done, nothing = self.body.split(b"\n\n")
        assert (done, nothing) == (b"data: [DONE]", b"")
        return [json.loads(event.removeprefix(b"data: ")) for event in events]


class Pieces(httpx.SyncByteStream):
    """A body in small pieces, which may break off."""

    def __init__(self, body: bytes, end: int | None) -> None:
        self.body = body[:end]
        self.whole = end is None

    def __iter__(self) -> Iterator[bytes]:
        for start in range(0, len(self.body), PIECE):
            yield self.body[start : start + PIECE]
        if not self.whole:
            raise httpx.RemoteProtocolError("peer closed connection without sending complete message body")


def recorded(server: str, name: str) -> Exchange:
    """The exchange of this name with "vllm" or "llama"."""
    request, head, body = (FOLDER / server / f"{name}.http").read_bytes().split(b"\n\n", 2)
    method, path = request.decode().split("\n")[0].split(" ")
    status, kind = head.decode().split("\n")
    return Exchange(method, path, int(status.split(" ")[1]), kind.removeprefix("content-type: "), body)


class Replay(httpx.MockTransport):
    """A server that sends again what was recorded: `Replay("vllm", "models", "call", "text")`.

    A path is answered with what was recorded for it, in this order, then with the last of it again; a path of which
    nothing is given is not found. `asked` are the requests that came.
    """

    def __init__(self, server: str, *names: str) -> None:
        super().__init__(self.answer)
        self.missing = recorded(server, "wrong-path")
        self.exchanges = [recorded(server, name) for name in names]
        self.asked: list[httpx.Request] = []

    def answer(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        fitting = [exchange for exchange in self.exchanges if exchange.path == request.url.path]
        if not fitting:
            return self.missing.response()
        if len(fitting) > 1:
            self.exchanges.remove(fitting[0])
        return fitting[0].response()
