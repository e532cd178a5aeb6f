"""The server of the live page. Standard library only: a thread per viewer is enough for a room.

Everyone who has the address, with its token, can read along and vote; all other paths are 404.
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
from thimble.repl.commands.export.page import SCRIPTS, about, embed_json, html_page, read_asset
from thimble.repl.live.growing import ENDED, TICK_SECONDS, LiveEvents
from thimble.repl.screen.streams import write_error_line

if TYPE_CHECKING:
    from thimble.session.session import Session

LIVE_FOLDER = Path(__file__).parent
ASKING, ANSWERED = 64, 200
"""The most connections with an incomplete request, and with a complete one that has the token."""
REQUEST_SECONDS = 5
"""The longest wait for a whole request."""
SILENCE_SECONDS = 10
"""The longest wait for a viewer to take the page, or the next UNSENT_BYTES of an event."""
UNSENT_BYTES = 65_536
"""The send buffer of a connection, for a viewer that does not read."""
PING_SECONDS = 5
VOTE_BYTES = 1_000
HOW_TO_LISTEN = "write --live HOST:PORT, such as --live 192.168.1.20:8000, or just --live for this machine only"


@contextmanager
def shown_live(session: Session, where: str) -> Iterator[str]:
    """Serve a session's live page at HOST:PORT until the block ends, and print its address. Raises UsageError."""
    growing = LiveEvents(session)
    with LiveServer(where, growing) as server:
        for run in (growing.run, lambda: server.serve_forever(poll_interval=TICK_SECONDS)):
            threading.Thread(target=run, name="live", daemon=True).start()
        write_error_line(f"Live: {server.url}")
        if not is_loopback(server.url):
            write_error_line("Everyone on that network who has this address can read along and vote.")
        try:
            yield server.url
        finally:
            growing.end()
            server.shutdown()


class LiveServer(ThreadingMixIn, TCPServer):
    """Serves each connection in a daemon thread."""

    daemon_threads = allow_reuse_address = True
    block_on_close = False
    request_queue_size = 200

    def __init__(self, where: str, growing: LiveEvents) -> None:
        host, port = _host_and_port(where)
        self.growing, self.token = growing, secrets.token_hex(8)
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self.held: dict[socket.socket, tuple[int, str, float]] = {}
        try:
            super().__init__((host, port), Handler)
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, UNSENT_BYTES)  # also of each connection
        except OSError as error:
            raise UsageError(f"cannot listen at {where}: {error.strerror or error}", HOW_TO_LISTEN) from error
        if self.server_address[0] in ("0.0.0.0", "::"):
            self.server_close()
            raise UsageError(f"{where} means all addresses of this machine; no phone can open it", HOW_TO_LISTEN)
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self.server_address[1]}/{self.token}/"
        style = read_asset("page.css") + (LIVE_FOLDER / "live.css").read_text("utf-8")
        script = "\n".join([*map(read_asset, SCRIPTS), (LIVE_FOLDER / "live.js").read_text("utf-8")])
        data = embed_json({"about": about("live"), "branches": []})
        self.page = "".join(html_page("live", style, script, [data], allowed="; connect-src 'self'")).encode()

    def hold(self, connection: socket.socket, address: str, most: int) -> None:
        """Count a connection as ASKING or ANSWERED. If there are too many, the busiest address loses its oldest."""
        self.held[connection] = most, address, monotonic()
        rivals = {each: whose for each, (kind, whose, _) in list(self.held.items()) if kind == most}
        if len(rivals) > most:
            many = Counter(rivals.values())
            self.end(max(rivals, key=lambda each: many[rivals[each]]))

    def end(self, connection: socket.socket) -> None:
        """Shut a connection down, so that its thread closes it."""
        self.held.pop(connection, None)
        with suppress(OSError):
            connection.shutdown(socket.SHUT_RDWR)

    def service_actions(self) -> None:
        """End the connections whose request takes too long."""
        for connection, (kind, _, since) in list(self.held.items()):
            if kind == ASKING and monotonic() - since > REQUEST_SECONDS:
                self.end(connection)

    def finish_request(self, request: Any, client_address: Any) -> None:
        """Serve one connection, in its thread. A viewer that disconnects is not an error."""
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
        """Read the request; without the token answer 404 before the headers arrive."""
        _, _, path = self.raw_requestline.partition(b" /")
        token, slash, rest = path.partition(b"/")
        self.asked = rest.split(b" ")[0]
        if slash and secrets.compare_digest(token, self.server.token.encode()):
            return super().parse_request()
        self.wfile.write(b"HTTP/1.0 404 Not Found\r\nContent-Length: 0\r\n\r\n")
        return False

    def do_GET(self) -> None:
        """Send the page, or the stream of events."""
        match self.asked:
            case b"":
                self._answer(HTTPStatus.OK, self.server.page, "text/html; charset=utf-8")
            case b"events":
                self._stream()
            case _:
                self._answer(HTTPStatus.NOT_FOUND)

    def do_POST(self) -> None:
        """Take a vote: the numbers of the messages that stay, for the ballot in the path."""
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
        self._send_head(status, kind)
        self.send_header("Content-Length", str(len(body)))
        if body and "voter=" not in self.headers.get("Cookie", ""):
            own = f"voter={secrets.token_hex(8)}; HttpOnly; SameSite=Strict; Path=/{self.server.token}/"
            self.send_header("Set-Cookie", own)
        self.end_headers()
        self.wfile.write(body)

    def _send_head(self, status: HTTPStatus, kind: str) -> None:
        """Send the status and the headers that all answers share; the request is complete."""
        self.server.hold(self.connection, self.client_address[0], ANSWERED)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Cache-Control", "no-store")
        self.send_header("X-Content-Type-Options", "nosniff")

    def _stream(self) -> None:
        """Send server-sent events, at most one batch per tick. Source: HTML Living Standard, section 9.2."""
        self._send_head(HTTPStatus.OK, "text/event-stream")
        self.end_headers()
        number = re.fullmatch(r"\d{1,9}", self.headers.get("Last-Event-ID", ""), re.ASCII)
        place, new = int(number[0]) if number else 0, list[bytes]()
        while ENDED not in new[-1:]:
            new, place = self.server.growing.events_after(place, PING_SECONDS)
            for text in (*new, f"event: place\nid: {place}\ndata: 0\n\n".encode()):
                for at in range(0, len(text), UNSENT_BYTES):
                    self.wfile.write(text[at : at + UNSENT_BYTES])
            self.server.growing.wait_tick()

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the terminal belongs to the session."""


def _host_and_port(where: str) -> tuple[str, int]:
    with suppress(ValueError):
        url = urlsplit(f"//{where}")
        if url.netloc == where and url.hostname and url.port is not None and "@" not in where:
            return url.hostname, url.port
    raise UsageError(f"{where[:80]!r} is not HOST:PORT", HOW_TO_LISTEN)
