"""The server of the live page. Standard library only: a room of viewers needs no more than a thread each.

Whoever has the address, with the token in it, may read along and vote; every other address is not there.
"""

from __future__ import annotations

import re
import secrets
import socket
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import TCPServer, ThreadingMixIn
from time import monotonic
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from thimble.agent.errors import UsageError
from thimble.models.wire.address import is_loopback
from thimble.repl.commands.export.page import SCRIPTS, about, asset, embedded, html
from thimble.repl.live.growing import ENDED, TICK_SECONDS, Growing
from thimble.repl.screen.streams import tell

if TYPE_CHECKING:
    from thimble.session.session import Session

LIVE_FOLDER = Path(__file__).parent
ASKING, ANSWERED = 64, 200
"""The most connections whose request is not there yet, and of the others, which have the token."""
REQUEST_SECONDS = 5
"""Longest wait for a whole request."""
SILENCE_SECONDS = 10
"""Longest wait for a viewer to take the page, or the next UNSENT_BYTES of an event."""
UNSENT_BYTES = 65_536
"""What the system keeps for a viewer that reads nothing."""
PING_SECONDS = 5
VOTE_BYTES = 1_000
HOW_TO_LISTEN = "write --live HOST:PORT, such as --live 192.168.1.20:8000, or --live alone for this machine"


@contextmanager
def shown_live(session: Session, where: str) -> Iterator[str]:
    """Show a session at HOST:PORT until the block ends, and say at which address. Raises UsageError."""
    growing = Growing(session)
    with LiveServer(where, growing) as server:
        for run in (growing.run, lambda: server.serve_forever(poll_interval=TICK_SECONDS)):
            threading.Thread(target=run, name="live", daemon=True).start()
        tell(f"Live: {server.url}")
        if not is_loopback(server.url):
            tell("Whoever on that network has this address reads along and votes.")
        try:
            yield server.url
        finally:
            growing.end()
            server.shutdown()


class LiveServer(ThreadingMixIn, TCPServer):
    """Listens, and gives each connection a thread that ends with the program."""

    daemon_threads = allow_reuse_address = True
    block_on_close = False
    request_queue_size = 200

    def __init__(self, where: str, growing: Growing) -> None:
        host, port = _host_and_port(where)
        self.growing, self.token = growing, secrets.token_hex(8)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.held: dict[socket.socket, tuple[int, str, float]] = {}
        try:
            super().__init__((host, port), Handler)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, UNSENT_BYTES)  # also of each connection
        except OSError as error:
            raise UsageError(f"nothing can listen at {where}: {error.strerror or error}", HOW_TO_LISTEN) from error
        if self.server_address[0] in ("0.0.0.0", "::"):
            self.server_close()
            raise UsageError(f"no phone can open {where}: it is every address of this machine", HOW_TO_LISTEN)
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self.server_address[1]}/{self.token}/"
        style = asset("page.css") + (LIVE_FOLDER / "live.css").read_text("utf-8")
        script = "\n".join([*map(asset, SCRIPTS), (LIVE_FOLDER / "live.js").read_text("utf-8")])
        data = embedded({"about": about("live"), "branches": []})
        self.page = "".join(html("live", style, script, [data], allowed="; connect-src 'self'")).encode()

    def hold(self, connection: socket.socket, address: str, most: int) -> None:
        """Count a connection as ASKING or ANSWERED. The address with the most of them loses its oldest for room."""
        self.held[connection] = most, address, monotonic()
        rivals = {each: whose for each, (kind, whose, _) in list(self.held.items()) if kind == most}
        if len(rivals) > most:
            many = Counter(rivals.values())
            self.end(max(rivals, key=lambda each: many[rivals[each]]))

    def end(self, connection: socket.socket) -> None:
        """Wake the thread of a connection, which closes it."""
        self.held.pop(connection, None)
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    def service_actions(self) -> None:
        """End the connections whose request takes too long."""
        for connection, (kind, _, since) in list(self.held.items()):
            if kind == ASKING and monotonic() - since > REQUEST_SECONDS:
                self.end(connection)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Serve one connection, in its thread. A viewer that goes away is no error."""
        self.hold(request, client_address[0], ASKING)
        with suppress(OSError):
            super().finish_request(request, client_address)
        self.held.pop(request, None)


class Handler(BaseHTTPRequestHandler):
    """Answers one request, and closes the connection."""

    server: LiveServer
    raw_requestline: bytes
    server_version, sys_version = "thimble", ""
    timeout = SILENCE_SECONDS

    def parse_request(self) -> bool:
        """Read the head; who does not name the token is answered before the rest of it is there."""
        _, _, path = self.raw_requestline.partition(b" /")
        token, slash, rest = path.partition(b"/")
        self.asked = rest.split(b" ")[0]
        if slash and secrets.compare_digest(token, self.server.token.encode()):
            return super().parse_request()
        self.wfile.write(b"HTTP/1.0 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        return False

    def do_GET(self) -> None:
        """The page, or the stream of what is new."""
        match self.asked:
            case b"":
                self._answer(HTTPStatus.OK, self.server.page, "text/html; charset=utf-8")
            case b"events":
                self._stream()
            case _:
                self._answer(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        """A vote: the numbers of the messages that stay, to the number of a ballot."""
        ballot = re.fullmatch(rb"vote/(\d{1,9})", self.asked)
        voter = re.search(r"\bvoter=([0-9a-f]{16})\b", self.headers.get("Cookie", ""))
        length = self.headers.get("Content-Length", "")
        if not re.fullmatch(r"\d{1,9}", length, re.ASCII) or int(length) > VOTE_BYTES:
            return self._answer(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        text = self.rfile.read(int(length))
        if not ballot or not voter:
            return self._answer(HTTPStatus.NOT_FOUND)
        try:
            number, address = int(ballot[1]), self.client_address[0]
            taken = self.server.growing.vote(voter[1], address, number, text.decode("ascii"))
        except (UsageError, UnicodeDecodeError):
            return self._answer(HTTPStatus.BAD_REQUEST)
        return self._answer(HTTPStatus.NO_CONTENT if taken else HTTPStatus.CONFLICT)

    def _answer(self, status: HTTPStatus, body: bytes = b"", kind: str = "text/plain") -> None:
        self._head(status, kind)
        self.send_header("Content-Length", str(len(body)))
        if body and "voter=" not in self.headers.get("Cookie", ""):
            own = f"voter={secrets.token_hex(8)}; HttpOnly; SameSite=Strict; Path=/{self.server.token}/"
            self.send_header("Set-Cookie", own)
        self.end_headers()
        self.wfile.write(body)

    def _head(self, status: HTTPStatus, kind: str) -> None:
        """Begin an answer: the whole request is there."""
        self.server.hold(self.connection, self.client_address[0], ANSWERED)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")

    def _stream(self) -> None:
        """LiveServer-sent events, at most one batch a tick. Source: HTML Living Standard, section 9.2."""
        self._head(HTTPStatus.OK, "text/event-stream")
        self.end_headers()
        number = re.fullmatch(r"\d{1,9}", self.headers.get("Last-Event-ID", ""), re.ASCII)
        place, new = int(number[0]) if number else 0, list[bytes]()
        while ENDED not in new[-1:]:
            new, place = self.server.growing.after(place, PING_SECONDS)
            for text in (*new, f"event: place\nid: {place}\ndata: 0\n\n".encode()):
                for at in range(0, len(text), UNSENT_BYTES):
                    self.wfile.write(text[at : at + UNSENT_BYTES])
            self.server.growing.rest()

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal belongs to the session."""


def _host_and_port(where: str) -> tuple[str, int]:
    with suppress(ValueError):
        url = urlsplit(f"//{where}")
        if url.netloc == where and url.hostname and url.port is not None and "@" not in where:
            return url.hostname, url.port
    raise UsageError(f"{where[:80]!r} is no HOST:PORT", HOW_TO_LISTEN)
