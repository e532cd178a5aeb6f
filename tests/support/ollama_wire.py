"""What Ollama sends, as bytes, and two servers that send it: one behind httpx's transport, one on loopback."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import httpx

from thimble.models.ollama.backend import Ollama
from thimble.models.ollama.server import OllamaServer
from thimble.models.server import ServerOptions

ANSWER = (
    b'{"model":"qwen2.5:7b","created_at":"2025-11-20T10:00:00.1Z","message":{"role":"assistant","content":"A thimble"},'
    b'"done":false}\n'
    b'{"model":"qwen2.5:7b","created_at":"2025-11-20T10:00:00.2Z","message":{"role":"assistant","content":" holds'
    b' \xe2\x82\xac1 \xe2\x80\x94 2\xc2\x85ml."},"done":false}\n'
    b'{"model":"qwen2.5:7b","created_at":"2025-11-20T10:00:00.3Z","message":{"role":"assistant","content":""},'
    b'"done_reason":"stop","done":true,"total_duration":2500000000,"load_duration":1000000000,'
    b'"prompt_eval_count":812,"prompt_eval_duration":500000000,"eval_count":11,"eval_duration":750000000}\n'
)

CALLS = (
    b'{"model":"qwen3:8b","message":{"role":"assistant","content":"","thinking":"Two lists "},"done":false}\n'
    b'{"model":"qwen3:8b","message":{"role":"assistant","content":"","thinking":"will do."},"done":false}\n'
    b'{"model":"qwen3:8b","message":{"role":"assistant","content":"I look twice."},"done":false}\n'
    b'{"model":"qwen3:8b","message":{"role":"assistant","content":"","tool_calls":[{"id":"call_k2m9",'
    b'"function":{"index":0,"name":"list_articles","arguments":{"page":2,"topic":"caf\xc3\xa9"}}}]},"done":false}\n'
    b'{"model":"qwen3:8b","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"list_articles",'
    b'"arguments":{}}},{"function":{"name":"list_articles","arguments":{}}}]},"done":false}\n'
    b'{"model":"qwen3:8b","message":{"role":"assistant","content":""},"done_reason":"length","done":true,'
    b'"total_duration":1,"load_duration":0,"prompt_eval_count":3000,"prompt_eval_cached_count":2500,'
    b'"prompt_eval_duration":250000000,"eval_count":40,"eval_duration":2000000000}\n'
)

TAGS = (
    b'{"models":[{"name":"llama3.2:3b","model":"llama3.2:3b","modified_at":"2025-11-01T10:00:00Z","size":2019393189,'
    b'"digest":"a80c4f17acd5","details":{"format":"gguf","family":"llama","parameter_size":"3.2B",'
    b'"quantization_level":"Q4_K_M"}},{"name":"qwen2.5:7b","model":"qwen2.5:7b","size":4683087332}]}'
)

SHOW = (
    b'{"license":"Apache","modelfile":"FROM x","parameters":"stop \\"<|im_end|>\\"","template":"{{ .Prompt }}",'
    b'"details":{"family":"qwen3"},"model_info":{"general.architecture":"qwen3","qwen3.context_length":40960},'
    b'"capabilities":["completion","tools","thinking"],"modified_at":"2025-11-01T10:00:00Z"}'
)

TOOLS_ONLY = b'{"model_info":{},"capabilities":["completion","tools"]}'

PS = (
    b'{"models":[{"name":"other:latest","model":"other:latest","context_length":512},{"name":"qwen2.5:7b",'
    b'"model":"qwen2.5:7b","size":6000000000,"digest":"845dbda0ea48","expires_at":"2025-11-20T10:10:00Z",'
    b'"size_vram":6000000000,"context_length":4096}]}'
)

PULL = (
    b'{"status":"pulling manifest"}\n'
    b'{"status":"pulling 2bada8a74506","digest":"sha256:2bada8a74506","total":4683073184,"completed":1048576}\n'
    b'{"status":"success"}\n'
)

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


class Wire(httpx.MockTransport):
    """A server behind httpx's transport. A route's reply is bytes (status 200), a status and bytes, a stream, or a list
    of them, given one by one."""

    def __init__(self, **routes: Any) -> None:
        super().__init__(self.answer)
        usual = {"show": TOOLS_ONLY, "tags": TAGS, "ps": b'{"models":[]}', "version": b'{"version":"0.34.1"}'}
        self.routes = {**usual, **routes}
        self.bodies: list[tuple[str, Any]] = []

    def answer(self, request: httpx.Request) -> httpx.Response:
        route = request.url.path.removeprefix("/api/")
        self.bodies.append((route, json.loads(request.content or b"null")))
        reply = self.routes[route]
        reply = reply.pop(0) if isinstance(reply, list) else reply
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, Chunks):
            return httpx.Response(200, stream=reply)
        status, body, *headers = reply if isinstance(reply, tuple) else (200, reply)
        return httpx.Response(status, content=body, headers=headers[0] if headers else None)

    def sent(self, route: str = "chat") -> Any:
        """The body of the newest request to a route."""
        return next(body for name, body in reversed(self.bodies) if name == route)


def server(wire: Wire, **options: Any) -> OllamaServer:
    """The server behind a wire; it is not waited for."""
    return OllamaServer("", ServerOptions(**options), wire, sleep=lambda _: None)


def model(wire: Wire, name: str = "qwen2.5:7b", room: int = 16_384, **options: Any) -> Ollama:
    """A model of the server behind a wire."""
    return Ollama(name, server(wire, **options), room=room)


@contextmanager
def loopback(handle: Callable[[BaseHTTPRequestHandler, Any], None]) -> Iterator[str]:
    """A real server on this machine; `handle` gets each request, whose bytes are `raw`, with its JSON body.

    Gives its address.
    """

    class Handler(BaseHTTPRequestHandler):
        raw = b""

        def do_POST(self) -> None:
            self.raw = self.rfile.read(int(self.headers["content-length"]))
            handle(self, json.loads(self.raw))

        def do_GET(self) -> None:
            handle(self, None)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def send(handler: BaseHTTPRequestHandler, body: bytes, status: int = 200) -> None:
    """Send a whole response."""
    handler.send_response(status)
    handler.send_header("Content-Length", str(len(body)))
    handler.end_headers()
    handler.wfile.write(body)
