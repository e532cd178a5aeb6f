"""A server behind httpx's transport, whose replies are data."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import httpx

PAGE = b"<!DOCTYPE html>\n<html><body>It works!</body></html>\n"


class Chunks(httpx.SyncByteStream):
    """A response's body in pieces; an exception among them is raised. Knows whether it was closed."""

    def __init__(self, pieces: Iterable[bytes | Exception]) -> None:
        self.pieces = pieces
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        for piece in self.pieces:
            if isinstance(piece, Exception):
                raise piece
            yield piece

    def close(self) -> None:
        self.closed = True


Reply = bytes | tuple[int, bytes] | tuple[int, bytes, Mapping[str, str]] | Chunks | Exception
Route = Reply | Callable[[Any], Reply]


class Wire(httpx.MockTransport):
    """A path's reply is bytes, a status and bytes (and headers), a stream, an error, or a function of the request's
    body which returns one of these; a list of them is given one by one. Other paths are 404."""

    def __init__(self, routes: Mapping[str, Route | list[Route]]) -> None:
        super().__init__(self.answer)
        self.routes: dict[str, Any] = dict(routes)
        self.requests: list[tuple[str, Any]] = []
        self.headers: list[httpx.Headers] = []
        self.pauses: list[float] = []

    def answer(self, request: httpx.Request) -> httpx.Response:
        path, body = request.url.path, json.loads(request.content or b"null")
        self.requests.append((path, body))
        self.headers.append(request.headers)
        reply = self.routes.get(path, (404, b'{"detail":"Not Found"}'))
        if isinstance(reply, list):
            reply = reply.pop(0)
        if callable(reply):
            reply = reply(body)
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, Chunks):
            return httpx.Response(200, stream=reply, headers={"content-type": "text/event-stream"})
        status, content, *headers = reply if isinstance(reply, tuple) else (200, reply)
        kind = "text/event-stream" if content.lstrip().startswith((b"data:", b":", b"event:")) else "application/json"
        given = {"content-type": "text/html" if content.startswith(b"<") else kind}
        return httpx.Response(status, content=content, headers={**given, **(headers[0] if headers else {})})

    def sent(self, path: str) -> Any:
        """The body of the newest request to a path."""
        return next(body for name, body in reversed(self.requests) if name == path)

    def asked(self, path: str) -> int:
        """How often a path was asked for."""
        return sum(name == path for name, _ in self.requests)
