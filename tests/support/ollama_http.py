"""The small Ollama of tests/support/ollama_server.py over real HTTP: routes, streams and errors as documented."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from ssl import PROTOCOL_TLS_SERVER, SSLContext
from threading import Thread
from typing import Any

from tests.support.ollama_server import Loaded, Model, Ollama, Reply, prompt_of, tagged, words

BUSY = "server busy, please try again.  maximum pending requests exceeded"
TOO_LONG = "the input length exceeds the context length"
CREATED = "2026-10-26T17:21:21.196249Z"


class Handler(BaseHTTPRequestHandler):
    """One connection."""

    ollama: Ollama
    protocol_version = "HTTP/1.1"

    def handle(self) -> None:
        with suppress(OSError):  # the client has gone
            super().handle()

    def do_GET(self) -> None:
        self._serve(None)

    def do_POST(self) -> None:
        self._serve(self.rfile.read(int(self.headers["content-length"] or 0)))

    def log_message(self, *_: object) -> None:
        pass

    def _serve(self, raw: bytes | None) -> None:
        routes: dict[str, Callable[[Any], None]] = {
            "/api/version": lambda _: self._json({"version": self.ollama.version}),
            "/api/tags": self._tags,
            "/api/ps": self._ps,
        }
        if raw is not None:
            routes = {"/api/show": self._show, "/api/chat": self._chat, "/api/pull": self._pull}
        try:
            body = None if raw is None else json.loads(raw)
        except ValueError as error:
            return self._error(400, str(error))
        with self.ollama.lock:
            self.ollama.requests.append((self.path, body))
        if self.path not in routes:
            return self._send(404, b"404 page not found", "text/plain")
        return routes[self.path](body)

    # ---- what is there ----

    def _tags(self, _: Any) -> None:
        self._json({"models": [self._listed(name, model) for name, model in self.ollama.models.items()]})

    def _ps(self, _: Any) -> None:
        running = self.ollama.running()
        each = (
            self._listed(name, self.ollama.models[name])
            | {"expires_at": CREATED, "size_vram": 4_683_087_332, "context_length": loaded.context}
            for name, loaded in running.items()
        )
        self._json({"models": list(each)})

    def _show(self, body: Any) -> None:
        name = body.get("model") or body.get("name")
        if not name:
            return self._error(400, "model is required")
        found = self.ollama.find(name)
        if found is None:
            return self._error(404, f"model '{name}' not found")
        model = found[1]
        info = {"general.architecture": model.family, f"{model.family}.context_length": model.context}
        shown: dict[str, Any] = {"modelfile": "FROM x", "template": "{{ .Prompt }}", "model_info": info}
        shown |= {"details": self._details(model), "capabilities": list(model.capabilities), "modified_at": CREATED}
        shown |= {"system": model.system} if model.system else {}
        shown |= {"messages": list(model.examples)} if model.examples else {}
        return self._json(shown | ({"thinking": model.thinking} if model.thinking else {}))

    def _listed(self, name: str, model: Model) -> dict[str, Any]:
        return {
            "name": name,
            "model": name,
            "modified_at": CREATED,
            "size": 4_683_087_332,
            "digest": "845dbda0ea48ed749caafd9e6037047aa19acfcfd82e704d7ca97d631a0b697e",
            "details": self._details(model),
        }

    def _details(self, model: Model) -> dict[str, Any]:
        size = {"parameter_size": "7.6B", "quantization_level": "Q4_K_M"}
        return {"parent_model": "", "format": "gguf", "family": model.family, "families": [model.family], **size}

    # ---- a chat ----

    def _chat(self, body: Any) -> None:
        ollama, name = self.ollama, str(body.get("model", ""))
        found = ollama.find(name)
        if not name:
            return self._error(400, "model is required")
        if found is None:
            return self._error(404, f"model '{name}' not found")
        with ollama.lock:
            if ollama.lost:
                ollama.lost -= 1
                self.close_connection = True
                return None
            if ollama.busy:
                ollama.busy -= 1
                return self._error(503, BUSY)
        refused = self._refused(name, found[1], body)
        if refused:
            return self._error(400, refused)
        started = time.monotonic()
        with ollama.lock:
            try:
                loaded = ollama.load(*found, body)
            except ValueError as error:
                return self._error(400, str(error))
        if not body.get("messages"):
            reason = "unload" if body.get("keep_alive") == 0 else "load"
            return self._json(self._line(name, {}, done=True, done_reason=reason))
        return self._reply(name, found[1], body, loaded, time.monotonic() - started)

    def _refused(self, name: str, model: Model, body: Any) -> str:
        able, think = model.capabilities, body.get("think")
        if "completion" not in able:
            return f'"{name}" does not support chat'
        if body.get("tools") and "tools" not in able:
            return f"registry.ollama.ai/library/{name} does not support tools"
        if think and "thinking" not in able:
            return f'"{name}" does not support thinking'
        if isinstance(think, str) and think not in ("high", "medium", "low", "max"):
            return f'invalid think value: "{think}" (must be "high", "medium", "low", "max", true, or false)'
        return ""

    def _reply(self, name: str, model: Model, body: Any, loaded: Loaded, load_seconds: float) -> None:
        ollama = self.ollama
        prompt = prompt_of(model, body, loaded.context)
        if prompt is None:
            return self._error(400, TOO_LONG)
        with ollama.lock:
            reply = ollama.replies.pop(0) if ollama.replies else ollama.rule(body["messages"], bool(body.get("tools")))
        cached = next((at for at, (a, b) in enumerate(zip(prompt, loaded.cached, strict=False)) if a != b), None)
        cached = min(len(prompt), len(loaded.cached)) if cached is None else cached
        cached = min(cached, len(prompt) - 1)  # the last one is computed anew, to have something to go on from
        loaded.cached = prompt
        pieces, written, reason = self._cut(model, reply, body, loaded.context - len(prompt))
        counts = {"prompt_eval_count": len(prompt)} | ({"prompt_eval_cached_count": cached} if self._counts() else {})
        done = {"done": True, "done_reason": reason, "total_duration": int(load_seconds * 1e9) + 1_400_000}
        done |= {"load_duration": int(load_seconds * 1e9) + 1_000, **counts, "prompt_eval_duration": 1_000_000}
        done |= {"eval_count": written, "eval_duration": 1_000_000 * max(1, written)}
        lines = [self._line(name, piece, done=False) for piece in pieces]
        if reply.error or reply.lost:
            return self._break(reply, lines)
        if body.get("stream") is False:
            whole = {key: "".join(piece.get(key, "") for piece in pieces) for key in ("content", "thinking")}
            whole = {key: text for key, text in whole.items() if text or key == "content"}
            calls = [call for piece in pieces for call in piece.get("tool_calls", ())]
            return self._json(self._line(name, whole | ({"tool_calls": calls} if calls else {}), **done))
        self._begin("application/x-ndjson")
        for line in [*lines, self._line(name, {}, **done)]:
            self._chunk(line)
        return self._end()

    def _counts(self) -> bool:
        return self.ollama.counts_cached

    def _cut(self, model: Model, reply: Reply, body: Any, room: int) -> tuple[list[dict[str, Any]], int, str]:
        """The messages of a stream, the tokens in them, and why it ends."""
        thinks = "thinking" in model.capabilities and body.get("think") is not False
        text = reply.text
        if not thinks and model.inline and reply.thinking:
            text = f"<think>\n{reply.thinking}\n</think>\n\n{text}"
        parts = [("thinking", word) for word in words(reply.thinking if thinks else "")]
        parts += [("content", word) for word in words(text)]
        most = body.get("options", {}).get("num_predict", -1)
        most = min([most] * (most > 0) + [max(0, room)] * (body.get("shift") is False) + [10**9])
        pieces = [{key: word} | ({} if key == "content" else {"content": ""}) for key, word in parts[:most]]
        if len(parts) > most:
            return pieces, most, "length"
        for number, (called, arguments) in enumerate(reply.calls):
            function = {"index": number, "name": called, "arguments": dict(arguments)}
            id_ = f"call_{len(self.ollama.requests):04d}{number:04d}"
            pieces.append({"content": "", "tool_calls": [{"id": id_, "function": function}]})
        return pieces, len(parts) + 12 * len(reply.calls), "stop"

    def _break(self, reply: Reply, lines: Sequence[Mapping[str, Any]]) -> None:
        if not lines and reply.error:
            return self._error(500, reply.error)
        self._begin("application/x-ndjson")
        for line in lines:
            self._chunk(line)
        if reply.error:
            self._chunk({"error": reply.error})
            return self._end()
        self.close_connection = True
        return None

    def _line(self, name: str, message: Mapping[str, Any], **rest: Any) -> dict[str, Any]:
        return {
            "model": name,
            "created_at": CREATED,
            "message": {"role": "assistant", "content": "", **message},
            **rest,
        }

    # ---- a download ----

    def _pull(self, body: Any) -> None:
        ollama, name = self.ollama, tagged(str(body.get("model") or body.get("name") or ""))
        self._begin("application/x-ndjson")
        self._chunk({"status": "pulling manifest"})
        download = ollama.downloads.get(name)
        if download is None:
            self._chunk({"error": "pull model manifest: file does not exist"})
            return self._end()
        for digest, size in download.layers.items():
            status = {"status": f"pulling {digest[:12]}", "digest": f"sha256:{digest}", "total": size}
            self._chunk(status | ({"completed": download.here[digest]} if download.here.get(digest) else {}))
            while download.here.get(digest, 0) < size:
                if sum(download.here.values()) >= ollama.disk_bytes:
                    place = f"/root/.ollama/models/blobs/sha256-{digest}-partial-0"
                    self._chunk({"error": f"write {place}: no space left on device"})
                    return self._end()
                time.sleep(ollama.step_seconds)
                download.here[digest] = min(size, download.here.get(digest, 0) + ollama.step_bytes)
                self._chunk(status | {"completed": download.here[digest]})
        ollama.models[name] = Model()
        for status_ in ("verifying sha256 digest", "writing manifest", "success"):
            self._chunk({"status": status_})
        return self._end()

    # ---- HTTP ----

    def _json(self, value: Any, status: int = 200) -> None:
        self._send(status, json.dumps(value).encode(), "application/json; charset=utf-8")

    def _error(self, status: int, words: str) -> None:
        self._json({"error": words}, status)

    def _send(self, status: int, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if status == 503 and self.ollama.retry_after:
            self.send_header("Retry-After", self.ollama.retry_after)
        self.end_headers()
        self.wfile.write(body)

    def _begin(self, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def _chunk(self, line: Mapping[str, Any]) -> None:
        data = json.dumps(line).encode() + b"\n"
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def _end(self) -> None:
        self.wfile.write(b"0\r\n\r\n")


@contextmanager
def served(ollama: Ollama | None = None, certificate: Path | None = None) -> Iterator[tuple[Ollama, str]]:
    """The server, listening, and its address; over TLS with a certificate and its key in one file."""
    ollama = ollama or Ollama()
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"ollama": ollama}))
    server.daemon_threads = True
    if certificate is not None:
        context = SSLContext(PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield ollama, f"http{'s' if certificate else ''}://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
