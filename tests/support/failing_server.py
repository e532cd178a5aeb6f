"""A model server on loopback that fails in one way, and works again when it is told to. It speaks as three do."""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

MODEL = "qwen2.5:7b"
ANSWER = "A thimble holds two millilitres."
PAGE = b"<!DOCTYPE html>\n<html><body>It works!</body></html>\n"
CUT = '{"slug": "thim'

Json = Mapping[str, Any]


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


class Faulty:
    """The server. `kind` is how it speaks; `fault` is a name of FAULTS, "" while all is well.

    A fault is that of the chat; with `everywhere` it is that of every route. `asked` are the bodies of the chats.
    """

    def __init__(self, kind: str, certificate: Path | None = None) -> None:
        self.kind = kind
        self.fault = ""
        self.everywhere = False
        self.asked: list[Json] = []
        self.over = Event()
        self._certificate = certificate
        self._port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"http{'s' if self._certificate else ''}://127.0.0.1:{self._port}"

    def start(self) -> None:
        """Listen, at the same port as before."""
        faulty = self

        class Handler(_Handler):
            server_ = faulty

        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), Handler)
        self._server.daemon_threads, self._server.block_on_close = True, False
        if self._certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self._certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
            self._server.handle_error = lambda *_: None  # type: ignore[method-assign, misc]
        self._port = self._server.server_port
        self._thread = Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    def stop(self) -> None:
        """Listen no more."""
        self.over.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    server_: Faulty

    def do_GET(self) -> None:
        self._serve(None)

    def do_POST(self) -> None:
        self._serve(json.loads(self.rfile.read(int(self.headers["content-length"]))))

    def log_message(self, *_: object) -> None:
        pass

    def _serve(self, body: Any) -> None:
        server, chat = self.server_, self.path in ("/api/chat", "/v1/chat/completions")
        if chat:
            server.asked.append(body)
        if server.fault and (chat or server.everywhere):
            FAULTS[server.fault](self, body)
        elif chat:
            self.answer()
        else:
            found = _routes(server.kind, server.fault != "no tools").get(self.path)
            self.json(200 if found else 404, found or {"detail": "Not Found"})

    def answer(self) -> None:
        if self.server_.kind == "ollama":
            self.send(200, _ollama_lines(), "application/x-ndjson")
        else:
            self.send(200, _events(), "text/event-stream")

    def json(self, status: int, body: Any, **headers: str) -> None:
        self.send(status, json.dumps(body).encode(), "application/json", **headers)

    def send(self, status: int, body: bytes, kind: str, *, length: int | None = None, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def error(self, status: int, words: str, **headers: str) -> None:
        self.json(status, {"error": words if self.server_.kind == "ollama" else {"message": words}}, **headers)


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


def _unauthorised(handler: _Handler, body: Any) -> None:
    told = handler.headers.get("authorization", "")  # a server that tells what it was sent
    handler.error(401, f"Unauthorized: {told}")


def _cut(handler: _Handler, body: Any) -> None:
    sent = OLLAMA_CUT if handler.server_.kind == "ollama" else _chunk(_half_a_call())
    handler.send(200, sent, "text/event-stream", length=len(sent) + 500)


def _ended(handler: _Handler, body: Any) -> None:
    sent = OLLAMA_CUT if handler.server_.kind == "ollama" else _chunk(_half_a_call())
    handler.send(200, sent, "text/event-stream")


def _no_tools(handler: _Handler, body: Any) -> None:
    if body.get("tools"):
        handler.json(400, NO_TOOLS[handler.server_.kind])
    else:
        handler.answer()


FAULTS: Mapping[str, Callable[[Any, Any], object]] = {
    "401": _unauthorised,
    "404": lambda handler, _: handler.send(404, b"404 page not found", "text/plain"),
    "429": lambda handler, _: handler.error(429, "Too Many Requests", Retry_After="600"),
    "500": lambda handler, _: handler.error(500, "llama runner process has terminated: signal: killed"),
    "503": lambda handler, _: handler.error(503, "server busy, maximum pending requests exceeded", Retry_After="600"),
    "a web page": lambda handler, _: handler.send(200, PAGE, "text/html"),
    "cut in a call": _cut,
    "ended in a call": _ended,
    "never answers": lambda handler, _: handler.server_.over.wait(60),
    "never starts": lambda handler, _: (handler.send(200, b"", "text/event-stream", length=9), _silence(handler)),
    "too long": lambda handler, _: handler.json(400, TOO_LONG[handler.server_.kind]),
    "no tools": _no_tools,
}


def _silence(handler: _Handler) -> None:
    handler.server_.over.wait(60)


@contextmanager
def faulty(kind: str, certificate: Path | None = None) -> Iterator[Faulty]:
    """A server that is gone in the end, with all that it keeps waiting."""
    server = Faulty(kind, certificate)
    try:
        yield server
    finally:
        server.stop()
