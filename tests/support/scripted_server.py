"""The scripted model server of the tests, over real TCP on loopback: what it answers is data, steps for each request.

    with front(rate_limited(0), passes(url, b'"arguments"', RESETS), otherwise=passes(url)) as server:
        ...  # server.url is its address, server.asked the requests for a reply, whole

The first request for a reply gets the first of these answers, the second the second, all others the last.

    with faulty("ollama") as server:
        server.fault = "never starts"
    with held("openai") as server:
        ...  # it never ends a reply, and sees when its client goes
"""

from __future__ import annotations

import json
import re
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any, Self
from urllib.parse import urlsplit

from thimble.models.ollama.backend import Ollama
from thimble.models.ollama.server import OllamaServer
from thimble.models.openai.backend import OpenAIBackend
from thimble.models.openai.connection import Connection

Json = Mapping[str, Any]
Step = bytes | float
"""Bytes that are sent, or seconds that pass."""
HANGS, RESETS = -1.0, -2.0
"""Wait until the client goes; break the connection off, as a crash does."""
Answer = Iterable[Step] | Callable[[bytes], Iterable[Step]]
"""The steps of an answer, or a function from the whole request to them. The connection is closed after the last."""
CHAT = ("/v1/chat/completions", "/api/chat")
PIECE = 65_536
PATIENCE_SECONDS = 20.0
"""How long a test waits for what must happen; it happens within milliseconds."""


class Front:
    """Answers each request as `choose` says.

    `asked` are the requests for a reply, oldest first, and `open` counts those under way. `reached`: an answer hangs,
    or is sent. `gone`: a request for a reply has ended, be it that its client went.
    """

    def __init__(self, choose: Callable[[bytes], Answer], certificate: Path | None = None) -> None:
        self.asked: list[bytes] = []
        self.open, self.reached, self.gone = 0, threading.Event(), threading.Event()
        self._choose, self._tls, self._port = choose, None, 0
        if certificate:  # and its key, in one file
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(certificate)
        self._connections: set[socket.socket] = set()
        self.start()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._port}"

    @property
    def bodies(self) -> list[Any]:
        """The bodies of the requests for a reply."""
        return [body_of(request) for request in self.asked]

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
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def stop(self) -> None:
        """Listen no more, and end what is under way."""
        self._server.shutdown()
        self._thread.join()
        for connection in list(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def sees_the_client_go(self) -> None:
        """Wait until no request is under way."""
        assert self.gone.wait(PATIENCE_SECONDS)
        assert self.open == 0

    def _handle(self, connection: socket.socket) -> None:
        with suppress(OSError):  # the client went, or does not trust the certificate
            if self._tls:
                connection = self._tls.wrap_socket(connection, server_side=True)
            self._connections.add(connection)
            if request := _read(connection):
                self._answer(connection, request)
        self._connections.discard(connection)
        connection.close()

    def _answer(self, connection: socket.socket, request: bytes) -> None:
        if chat := path_of(request) in CHAT:
            self.asked.append(request)
            self.open += 1
            self.gone.clear()
        try:
            answer = self._choose(request)
            for step in answer(request) if callable(answer) else answer:
                self._take(connection, step)
        finally:
            if chat:
                self.open -= 1
                self.reached.set()
                self.gone.set()

    def _take(self, connection: socket.socket, step: Step) -> None:
        if isinstance(step, bytes):
            connection.sendall(step)
        elif step == HANGS:
            self.reached.set()
            connection.recv(1)
        elif step == RESETS:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        else:
            time.sleep(step)


def path_of(request: bytes) -> str:
    return request.split(b" ", 2)[1].decode()


def body_of(request: bytes) -> Any:
    return json.loads(request.partition(b"\r\n\r\n")[2] or b"null")


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


# ---- answers ----


def says(status: str, body: bytes, *headers: str) -> Answer:
    """A whole response, as in `says("500 Internal Server Error", b"...", "content-type: text/plain")`."""
    head = [f"HTTP/1.1 {status}", *headers, f"content-length: {len(body)}", "connection: close", "", ""]
    return ("\r\n".join(head).encode() + body,)


def says_json(status: str, value: object, *headers: str) -> Answer:
    """A whole response in JSON."""
    return says(status, json.dumps(value).encode(), "content-type: application/json", *headers)


def rate_limited(seconds: float) -> Answer:
    """A 429 that says when to come again."""
    words = {"error": {"message": "slow down", "code": 429}}
    return says_json("429 Too Many Requests", words, f"retry-after: {seconds:g}")


WEB_PAGE = says("200 OK", b"<!DOCTYPE html><html><body>Log in</body></html>", "content-type: text/html")
NOT_FOUND = says("404 Not Found", b'{"detail":"Not Found"}', "content-type: application/json")


def starts(body: bytes, *then: Step) -> Answer:
    """The beginning of a stream; then something else happens."""
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return (head + (b"%x\r\n%s\r\n" % (len(body), body) if body else b""), *then)


def passes(url: str, until: bytes = b"", *then: Step) -> Answer:
    """What a real server answers to the request; with `until` up to its end, if it comes, and then something else."""
    to = urlsplit(url)

    def answer(request: bytes) -> Iterator[Step]:
        with socket.create_connection((str(to.hostname), int(to.port or 80))) as server:
            server.sendall(re.sub(rb"(?i)\r\nconnection:[^\r]*", b"\r\nConnection: close", request, count=1))
            passed = b""
            while piece := server.recv(PIECE):
                before, found, _ = (passed + piece).partition(until) if until else (passed + piece, b"", b"")
                yield (before + found)[len(passed) :]
                if found:
                    yield from then
                    break
                passed += piece

    return answer


def front(*answers: Answer, paths: Mapping[str, Answer] | None = None, otherwise: Answer = NOT_FOUND) -> Front:
    """Answer the requests for a reply with these, one after the other, and others by their path, or `otherwise`."""

    def choose(request: bytes) -> Answer:
        path = path_of(request)
        if answers and path in CHAT:
            return answers[min(len(server.asked), len(answers)) - 1]
        return (paths or {}).get(path, otherwise)

    server = Front(choose)
    return server


class Handler:
    """A request that is answered by `send`; nothing is sent otherwise."""

    def __init__(self, request: bytes) -> None:
        self.path, self.raw = path_of(request), request.partition(b"\r\n\r\n")[2]
        self.answer: Answer = ()


def send(handler: Handler, body: bytes, status: int = 200) -> None:
    """Send a whole response."""
    handler.answer = says(f"{status} Status", body)


@contextmanager
def loopback(handle: Callable[[Handler, Any], object]) -> Iterator[str]:
    """A server that hands each request, with its JSON body, to a function. Gives its address."""

    def choose(request: bytes) -> Answer:
        handle(handler := Handler(request), body_of(request))
        return handler.answer

    with Front(choose) as server:
        yield server.url


# ---- a sound server, as three servers speak ----

MODELS = ("qwen2.5:7b", "tiny")
MODEL = MODELS[0]
ANSWER = "A thimble holds two millilitres."


def call(name: Any, arguments: Any, **more: Any) -> dict[str, Any]:
    """A call in a reply."""
    return {"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": arguments}, **more}


@dataclass(frozen=True)
class Asked:
    """A request: the kind of server that is asked ("ollama", "vllm", else llama-server), the path, and the body."""

    kind: str
    path: str
    request: bytes = b""

    @property
    def chats(self) -> bool:
        """Whether it asks for a reply."""
        return self.path in CHAT

    @property
    def stream_type(self) -> str:
        """The type of a stream."""
        if not self.chats:
            return "application/json"
        return "application/x-ndjson" if self.kind == "ollama" else "text/event-stream"

    def piece(self, delta: Json, **end: Any) -> dict[str, Any]:
        """A piece of a reply. Ollama has the arguments of calls as objects, if they are JSON."""
        if self.kind == "ollama":
            if "tool_calls" in delta:
                delta = {**delta, "tool_calls": [*map(_with_an_object, delta["tool_calls"])]}
            return {"model": MODEL, "message": {"role": "assistant", **delta}, "done": bool(end), **end}
        choice = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": end.get("done_reason")}
        return {"id": "x", "model": MODEL, "choices": [choice], **end}

    def line(self, value: Any) -> bytes:
        """A piece on the wire. Bytes are JSON already."""
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        return b"data: " + text + b"\n\n" if self.stream_type == "text/event-stream" else text + b"\n"

    def say(self, **delta: Any) -> bytes:
        """A piece of a reply on the wire; at another path what is sound there, with these fields too."""
        if self.chats:
            return self.line(self.piece(delta))
        known = self.known()
        return self.line({**(known if isinstance(known, dict) else {}), **delta})

    @property
    def end(self) -> bytes:
        """The end of a reply."""
        last = self.line(self.piece({"content": ""}, done_reason="stop", prompt_eval_count=900, eval_count=9))
        return last if self.kind == "ollama" else last + b"data: [DONE]\n\n"

    def known(self, tools: bool = True) -> Any:
        """What a sound server says at this path about itself and its models, as JSON; None if it has none such."""
        return about(self.kind, tools, self.request).get(self.path)

    def sound(self, tools: bool = True) -> Answer:
        """What a sound server answers."""
        if self.chats:
            return says("200 OK", self.say(content=ANSWER) + self.end, f"content-type: {self.stream_type}")
        known = self.known(tools)
        return NOT_FOUND if known is None else says_json("200 OK", known)


def _with_an_object(each: Json) -> dict[str, Any]:
    function = each["function"]
    with suppress(KeyError, TypeError, ValueError, RecursionError):
        function = {**function, "arguments": json.loads(function["arguments"])}
    return {**each, "function": function}


def about(kind: str, tools: bool = True, request: bytes = b"") -> dict[str, Any]:
    """What a sound server says about itself and its models, by path."""
    listed = [{"name": name, "model": name, "digest": f"d{name}"} for name in MODELS]
    if kind == "ollama":
        return {
            "/api/version": {"version": "0.34.0"},
            "/api/tags": {"models": listed},
            "/api/show": {
                "capabilities": ["completion", *["tools"] * tools],
                "model_info": {"qwen2.context_length": 32768},
            },
            "/api/ps": {"models": [{**each, "context_length": 32768} for each in listed]},
        }
    size: dict[str, Any] = {"max_model_len": 32768} if kind == "vllm" else {"meta": {"n_ctx": 32768}}
    owner = {"object": "model", "owned_by": "vllm" if kind == "vllm" else "llamacpp"}
    found: dict[str, Any] = {
        "/v1/models": {"object": "list", "data": [{"id": name, **owner, **size} for name in MODELS]},
        "/version": {"version": "0.32.0"},
    }
    tokens = list(range(len(request) // 16))
    if kind == "vllm":
        return found | {"/tokenize": {"count": len(tokens), "tokens": tokens}}
    return found | {"/apply-template": {"prompt": "p" * 400}, "/tokenize": {"tokens": tokens}}


# ---- a server with one fault ----

_VLLM = {"type": "BadRequestError", "code": 400}
REFUSED: dict[str, dict[str, Any]] = {
    "too long": {
        "ollama": "the input length exceeds the context length",
        "vllm": {
            "message": "This model's maximum context length is 8192 tokens. However, your prompt contains at least "
            "8193 input tokens. Please reduce the length of the input prompt.",
            **_VLLM,
        },
        "openai": {
            "code": 400,
            "message": "the request exceeds the available context size, try increasing it",
            "type": "exceed_context_size_error",
            "n_prompt_tokens": 9000,
            "n_ctx": 8192,
        },
    },
    "no tools": {
        "ollama": f"registry.ollama.ai/library/{MODEL} does not support tools",
        "vllm": {
            "message": '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
            **_VLLM,
        },
        "openai": {"code": 500, "message": "tools param requires --jinja flag", "type": "server_error"},
    },
}
"""What the error of each server says, by the fault."""
STATUSES = {
    "429": ("429 Too Many Requests", "Too Many Requests", "retry-after: 600"),
    "500": ("500 Error", "llama runner process has terminated: signal: killed"),
    "503": ("503 Busy", "server busy, maximum pending requests exceeded", "retry-after: 600"),
}
OLLAMA_CUT = b'{"model":"qwen2.5:7b","message":{"role":"assistant","content":"I look."},"done":false}\n' + (
    b'{"model":"qwen2.5:7b","message":{"role":"assistant","tool_calls":[{"function":{"name":"read_article","argu'
)


def failed(fault: str, asked: Asked) -> Answer:
    """What a server with this fault answers."""
    half = OLLAMA_CUT if asked.kind == "ollama" else asked.say(tool_calls=[call("read_article", '{"slug": "thim')])
    match fault:
        case "401":  # it repeats the key that it was sent
            key = re.search(rb"(?i)\r\nauthorization: ([^\r]*)", asked.request)
            return _error(asked.kind, "401 Unauthorized", f"Unauthorized: {key[1].decode() if key else ''}")
        case "404":
            return says("404 Not Found", b"404 page not found", "content-type: text/plain")
        case "a web page":
            return WEB_PAGE
        case "cut in a call":
            return starts(half)
        case "ended in a call":
            return says("200 OK", half, "content-type: text/event-stream")
        case "never answers":
            return (HANGS,)
        case "never starts":
            return starts(b"", HANGS)
        case "no tools" if b'"tools"' not in asked.request:
            return asked.sound()
        case "too long" | "no tools":
            return says_json("400 Bad Request", {"error": REFUSED[fault][asked.kind]})
        case _:
            return _error(asked.kind, *STATUSES[fault])


def _error(kind: str, status: str, words: str, *headers: str) -> Answer:
    return says_json(status, {"error": words if kind == "ollama" else {"message": words}}, *headers)


class Faulty(Front):
    """A model server. `kind` is how it speaks; `fault` is one that `failed` knows, "" while all is well.

    A fault is that of the chat; with `everywhere` it is that of every route.
    """

    def __init__(self, kind: str, certificate: Path | None = None) -> None:
        self.kind, self.fault, self.everywhere = kind, "", False
        super().__init__(self._chosen, certificate)

    def _chosen(self, request: bytes) -> Answer:
        asked = Asked(self.kind, path_of(request), request)
        if self.fault and (asked.chats or self.everywhere):
            return failed(self.fault, asked)
        return asked.sound(tools=self.fault != "no tools")


faulty = Faulty


# ---- a server whose replies are given, or never end ----

WORDS = {"ollama": Asked("ollama", CHAT[1]).say(content="A"), "openai": Asked("openai", CHAT[0]).say(content="A")}
"""The beginning of a reply."""


class Serving(Front):
    """A server that is sound but for its replies, and a model of it. By default it never sends a byte of one."""

    def __init__(self, kind: str = "openai", answer: Answer = (HANGS,)) -> None:
        super().__init__(
            lambda request: answer if (path := path_of(request)) in CHAT else Asked(kind, path, request).sound()
        )
        self.backend: Ollama | OpenAIBackend = (
            Ollama(MODEL, OllamaServer(self.url))
            if kind == "ollama"
            else OpenAIBackend("openai", MODEL, Connection(self.url), needed=32_768)
        )


def held(kind: str = "openai", first: bytes | None = b"") -> Serving:
    """One that begins a reply with some bytes and then says nothing more; with None it is busy."""
    return Serving(kind, rate_limited(20) if first is None else starts(first, HANGS) if first else (HANGS,))


def no_thread_is_left() -> None:
    """Every thread of a worker ends."""
    for thread in threading.enumerate():
        if thread.name == "memory":
            thread.join(PATIENCE_SECONDS)
            assert not thread.is_alive()
