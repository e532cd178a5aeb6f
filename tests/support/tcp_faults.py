"""What servers do when they fail, over real TCP on loopback: a front that answers itself, or passes on and then cuts.

    with front(rate_limited(0), passes(url, until=b'"arguments"', then=resets), otherwise=passes(url)) as found:
        ...  # found.url is the address of the front, found.asked what it was asked

The first request for a reply is answered by the first of these, the second by the second, all others by the last.
"""

from __future__ import annotations

import json
import re
import socket
import ssl
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread
from urllib.parse import urlsplit

Answer = Callable[[socket.socket, bytes], None]
"""Gets a connection and the whole request that came over it. The connection is closed afterwards."""

CHAT = ("/v1/chat/completions", "/api/chat")
PIECE = 65_536


@dataclass
class Front:
    """A front that listens. `asked` are the requests for a reply that came, oldest first, head and body."""

    url: str
    asked: list[bytes] = field(default_factory=list)


def says(status: str, body: bytes, *headers: str) -> Answer:
    """A whole response, as in `says("500 Internal Server Error", b"...", "content-type: text/plain")`."""
    head = [f"HTTP/1.1 {status}", *headers, f"content-length: {len(body)}", "connection: close", "", ""]
    response = "\r\n".join(head).encode() + body

    def answer(connection: socket.socket, request: bytes) -> None:
        connection.sendall(response)

    return answer


def fails(status: str, message: str, *headers: str) -> Answer:
    """An error as OpenAI's API words it."""
    body = json.dumps({"error": {"message": message, "code": int(status[:3])}})
    return says(status, body.encode(), "content-type: application/json", *headers)


def rate_limited(seconds: float) -> Answer:
    """A 429 that says when to come again."""
    return fails("429 Too Many Requests", "slow down", f"retry-after: {seconds:g}")


BUSY = fails("503 Service Unavailable", "the queue is full")
BROKEN = fails("500 Internal Server Error", "out of memory")
WEB_PAGE = says("200 OK", b"<!DOCTYPE html><html><body>Log in</body></html>", "content-type: text/html")
NOT_FOUND = says("404 Not Found", b'{"detail":"Not Found"}', "content-type: application/json")


def resets(connection: socket.socket, request: bytes) -> None:
    """Break the connection off, as a crash does."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def closes(connection: socket.socket, request: bytes) -> None:
    """Close the connection, as a proxy does that lost its server."""


def hangs(connection: socket.socket, request: bytes) -> None:
    """Send nothing until the client goes."""
    with suppress(OSError):
        connection.recv(1)


def starts(body: bytes, then: Answer = closes, kind: str = "text/event-stream") -> Answer:
    """Begin a stream with these bytes; then something else happens."""
    head = f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\ntransfer-encoding: chunked\r\n\r\n".encode()

    def answer(connection: socket.socket, request: bytes) -> None:
        connection.sendall(head + (b"%x\r\n%s\r\n" % (len(body), body) if body else b""))
        then(connection, request)

    return answer


def passes(url: str, until: bytes = b"", then: Answer = closes) -> Answer:
    """Pass the request on to a real server and its response back, up to `until` (its end too) if that comes."""
    to = urlsplit(url)
    assert to.hostname is not None
    assert to.port is not None
    address = (to.hostname, to.port)

    def answer(connection: socket.socket, request: bytes) -> None:
        with socket.create_connection(address) as server:
            server.sendall(re.sub(rb"(?i)\r\nconnection:[^\r]*", b"\r\nConnection: close", request, count=1))
            passed = b""
            while piece := server.recv(PIECE):
                before, found, _ = (passed + piece).partition(until) if until else (passed + piece, b"", b"")
                connection.sendall((before + found)[len(passed) :])
                if found:
                    then(connection, request)
                    break
                passed += piece

    return answer


def routed(paths: Mapping[str, Answer], otherwise: Answer = NOT_FOUND) -> Answer:
    """Answer some paths by themselves."""

    def answer(connection: socket.socket, request: bytes) -> None:
        paths.get(_path(request), otherwise)(connection, request)

    return answer


@contextmanager
def front(*answers: Answer, otherwise: Answer = NOT_FOUND, tls: ssl.SSLContext | None = None) -> Iterator[Front]:
    """Answer the requests for a reply with these, one after the other, and all others with `otherwise`."""
    open_now: set[socket.socket] = set()

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            connection = self.request
            with suppress(OSError):  # the client went, or does not trust the certificate
                if tls:
                    connection = tls.wrap_socket(connection, server_side=True)
                open_now.add(connection)
                if request := _read(connection):
                    self.chosen(request)(connection, request)
            open_now.discard(connection)
            connection.close()

        def chosen(self, request: bytes) -> Answer:
            if _path(request) in CHAT:
                found.asked.append(request)
                return answers[min(len(found.asked), len(answers)) - 1]
            return otherwise

    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        found = Front(f"{'https' if tls else 'http'}://127.0.0.1:{server.server_address[1]}")
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield found
        finally:
            server.shutdown()
            thread.join()
            for connection in list(open_now):
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


def _path(request: bytes) -> str:
    return request.split(b" ", 2)[1].decode()


def _read(connection: socket.socket) -> bytes:
    """One request, head and body; nothing if the client goes before its end."""
    request = b""
    while piece := connection.recv(PIECE):
        request += piece
        head, blank, body = request.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        if blank and len(body) >= (int(length[1]) if length else 0):
            return request
    return b""
