"""Model servers that fail, over real TCP on loopback: fronts that answer one by one, and a server with one fault.

    with front(rate_limited(0), passes(url, until=b'"arguments"', then=resets), otherwise=passes(url)) as found:
        ...  # found.url is the address of the front, found.asked what it was asked

The first request for a reply is answered by the first of these, the second by the second, all others by the last.

    with faulty("ollama") as server:
        server.fault = "never starts"
"""

from __future__ import annotations

import json
import re
import socket
import ssl
import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

Json = Mapping[str, Any]
Answer = Callable[[socket.socket, bytes], None]
"""Gets a connection and the whole request that came over it. The connection is closed afterwards."""

CHAT = ("/v1/chat/completions", "/api/chat")
PIECE = 65_536


class Front:
    """Answers each request as `choose` says. `asked` are the requests for a reply that came, oldest first, whole."""

    def __init__(self, choose: Callable[[bytes], Answer], tls: ssl.SSLContext | None = None) -> None:
        self.asked: list[bytes] = []
        self._choose, self._tls = choose, tls
        self._open: set[socket.socket] = set()
        self._port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Listen, at the same port as before."""
        handle = self._handle

        class Handler(BaseRequestHandler):
            def handle(self) -> None:
                handle(self.request)

        class Server(ThreadingTCPServer):
            allow_reuse_address = True
            request_queue_size = 128

        self._server = Server(("127.0.0.1", self._port), Handler)
        self._port = self._server.server_address[1]
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def stop(self) -> None:
        """Listen no more, and end what is under way."""
        self._server.shutdown()
        self._thread.join()
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._server.server_close()

    def _handle(self, connection: socket.socket) -> None:
        with suppress(OSError):  # the client went, or does not trust the certificate
            if self._tls:
                connection = self._tls.wrap_socket(connection, server_side=True)
            self._open.add(connection)
            if request := _read(connection):
                if path_of(request) in CHAT:
                    self.asked.append(request)
                self._choose(request)(connection, request)
        self._open.discard(connection)
        connection.close()


def says(status: str, body: bytes, *headers: str) -> Answer:
    """A whole response, as in `says("500 Internal Server Error", b"...", "content-type: text/plain")`."""
    head = [f"HTTP/1.1 {status}", *headers, f"content-length: {len(body)}", "connection: close", "", ""]
    response = "\r\n".join(head).encode() + body

    def answer(connection: socket.socket, request: bytes) -> None:
        connection.sendall(response)

    return answer


def says_json(status: str, value: object, *headers: str) -> Answer:
    """A whole response in JSON."""
    return says(status, json.dumps(value).encode(), "content-type: application/json", *headers)


def fails(status: str, message: str, *headers: str) -> Answer:
    """An error as OpenAI's API words it."""
    return says_json(status, {"error": {"message": message, "code": int(status[:3])}}, *headers)


def rate_limited(seconds: float) -> Answer:
    """A 429 that says when to come again."""
    return fails("429 Too Many Requests", "slow down", f"retry-after: {seconds:g}")


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
        paths.get(path_of(request), otherwise)(connection, request)

    return answer


@contextmanager
def front(*answers: Answer, otherwise: Answer = NOT_FOUND, tls: ssl.SSLContext | None = None) -> Iterator[Front]:
    """Answer the requests for a reply with these, one after the other, and all others with `otherwise`."""

    def choose(request: bytes) -> Answer:
        return answers[min(len(found.asked), len(answers)) - 1] if path_of(request) in CHAT else otherwise

    found = Front(choose, tls)
    try:
        yield found
    finally:
        found.stop()


def path_of(request: bytes) -> str:
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


# ---- a server with one fault, as three servers speak ----

MODEL = "qwen2.5:7b"
ANSWER = "A thimble holds two millilitres."
CUT = '{"slug": "thim'


def _ollama_lines() -> bytes:
    said = {"model": MODEL, "message": {"role": "assistant", "content": ANSWER}, "done": False}
    end = {"model": MODEL, "message": {"role": "assistant", "content": ""}, "done": True, "done_reason": "stop"}
    return b"".join(json.dumps(each).encode() + b"\n" for each in (said, {**end, "prompt_eval_count": 900}))


def _chunk(delta: Json, finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return b"data: " + json.dumps({"id": "x", "model": MODEL, "choices": [choice]}).encode() + b"\n\n"


def _events() -> bytes:
    return _chunk({"role": "assistant", "content": ANSWER}) + _chunk({}, "stop") + b"data: [DONE]\n\n"


def _half_a_call() -> Json:
    call = {"index": 0, "id": "call_1", "type": "function", "function": {"name": "read_article", "arguments": CUT}}
    return {"role": "assistant", "tool_calls": [call]}


OLLAMA_CUT = b'{"model":"qwen2.5:7b","message":{"role":"assistant","content":"I look."},"done":false}\n' + (
    b'{"model":"qwen2.5:7b","message":{"role":"assistant","tool_calls":[{"function":{"name":"read_article","argu'
)
TOO_LONG = {
    "ollama": {"error": "the input length exceeds the context length"},
    "vllm": {
        "error": {
            "message": "This model's maximum context length is 8192 tokens. However, your prompt contains at least "
            "8193 input tokens. Please reduce the length of the input prompt.",
            "type": "BadRequestError",
            "code": 400,
        }
    },
    "openai": {
        "error": {
            "code": 400,
            "message": "the request exceeds the available context size, try increasing it",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 9000,
            "n_ctx": 8192,
        }
    },
}
NO_TOOLS = {
    "ollama": {"error": f"registry.ollama.ai/library/{MODEL} does not support tools"},
    "vllm": {
        "error": {
            "message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
            "type": "BadRequestError",
            "code": 400,
        }
    },
    "openai": {"error": {"code": 500, "message": "tools param requires --jinja flag", "type": "server_error"}},
}


class Faulty(Front):
    """A model server. `kind` is how it speaks; `fault` is a name of FAULTS, "" while all is well.

    A fault is that of the chat; with `everywhere` it is that of every route.
    """

    def __init__(self, kind: str, certificate: Path | None = None) -> None:
        self.kind, self.fault, self.everywhere = kind, "", False
        tls = None
        if certificate:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(certificate)
        super().__init__(self._answer, tls)

    @property
    def bodies(self) -> list[Json]:
        """The bodies of the chats."""
        return [json.loads(request.partition(b"\r\n\r\n")[2]) for request in self.asked]

    def _answer(self, request: bytes) -> Answer:
        chat = path_of(request) in CHAT
        if self.fault and (chat or self.everywhere):
            return FAULTS[self.fault](self.kind, request)
        if chat:
            return _answers(self.kind)
        found = _routes(self.kind, self.fault != "no tools").get(path_of(request))
        return says_json("200 OK", found) if found else NOT_FOUND


def _routes(kind: str, tools: bool) -> Mapping[str, Any]:
    if kind == "ollama":
        able = ["completion", "tools"] if tools else ["completion"]
        return {
            "/api/version": {"version": "0.34.0"},
            "/api/tags": {"models": [{"name": MODEL, "model": MODEL}]},
            "/api/show": {"capabilities": able, "model_info": {"qwen2.context_length": 32768}},
            "/api/ps": {"models": []},
        }
    owner = "vllm" if kind == "vllm" else "llamacpp"
    return {"/v1/models": {"object": "list", "data": [{"id": MODEL, "owned_by": owner, "max_model_len": 32768}]}}


def _answers(kind: str) -> Answer:
    return says("200 OK", _ollama_lines() if kind == "ollama" else _events(), f"content-type: {_STREAMS[kind]}")


def _fails(kind: str, status: str, words: str, *headers: str) -> Answer:
    return says_json(status, {"error": words if kind == "ollama" else {"message": words}}, *headers)


def _unauthorised(kind: str, request: bytes) -> Answer:
    """A server that repeats the key that it was sent."""
    shown = re.search(rb"(?i)\r\nauthorization: ([^\r]*)", request)
    return _fails(kind, "401 Unauthorized", f"Unauthorized: {shown[1].decode() if shown else ''}")


def _half(kind: str) -> bytes:
    return OLLAMA_CUT if kind == "ollama" else _chunk(_half_a_call())


_STREAMS = {"ollama": "application/x-ndjson", "vllm": "text/event-stream", "openai": "text/event-stream"}
FAULTS: Mapping[str, Callable[[str, bytes], Answer]] = {
    "401": _unauthorised,
    "404": lambda kind, _: says("404 Not Found", b"404 page not found", "content-type: text/plain"),
    "429": lambda kind, _: _fails(kind, "429 Too Many Requests", "Too Many Requests", "retry-after: 600"),
    "500": lambda kind, _: _fails(kind, "500 Error", "llama runner process has terminated: signal: killed"),
    "503": lambda kind, _: _fails(
        kind, "503 Busy", "server busy, maximum pending requests exceeded", "retry-after: 600"
    ),
    "a web page": lambda kind, _: WEB_PAGE,
    "cut in a call": lambda kind, _: starts(_half(kind)),
    "ended in a call": lambda kind, _: says("200 OK", _half(kind), "content-type: text/event-stream"),
    "never answers": lambda kind, _: hangs,
    "never starts": lambda kind, _: starts(b"", hangs),
    "too long": lambda kind, _: says_json("400 Bad Request", TOO_LONG[kind]),
    "no tools": lambda kind, request: (
        says_json("400 Bad Request", NO_TOOLS[kind]) if b'"tools"' in request else _answers(kind)
    ),
}


@contextmanager
def faulty(kind: str, certificate: Path | None = None) -> Iterator[Faulty]:
    """A server that is gone in the end, with all that it keeps waiting."""
    server = Faulty(kind, certificate)
    try:
        yield server
    finally:
        server.stop()
