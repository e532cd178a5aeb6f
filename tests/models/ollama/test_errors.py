from __future__ import annotations

import socket
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ModelError
from agent.messages import Message
from agent.protocols import Sent, Waiting
from models.ollama.backend import Ollama
from models.ollama.server import OllamaServer
from models.server import ServerOptions
from tests.support.both_servers import failure
from tests.support.certificate import self_signed
from tests.support.ollama_http import served
from tests.support.ollama_wire import ANSWER, PS, SHOW, Chunks, Wire, loopback, model, send, server

USER = Message("u", "user", "What holds 2 ml?")
TOOL = {"type": "function", "function": {"name": "list_articles", "description": "List.", "parameters": {}}}


@given(st.integers(0, ANSWER.rindex(b"\n") - 1))
def test_a_stream_that_ends_too_early_is_never_taken_for_a_reply(end: int) -> None:
    cut = ANSWER[:end]
    if cut.endswith(b"}"):
        failure("ollama", cut)
        return
    with pytest.raises(ModelError):
        list(model(Wire(chat=cut)).stream([USER], []))
    error = failure("ollama", Chunks([cut, httpx.RemoteProtocolError("peer closed connection")]))
    assert ("stopped in the middle of a reply" if b"\n" in cut else "closed the connection without") in error.what


# ---- over a real connection ----


def test_a_server_that_falls_silent_is_given_up_on_and_a_cancelled_one_notices() -> None:
    gone, done = Event(), Event()

    def slow(handler: Any, body: Any) -> None:
        if handler.path != "/api/chat":
            return send(handler, SHOW if body else PS)
        handler.send_response(200)
        handler.end_headers()
        try:
            handler.wfile.write(ANSWER.splitlines(keepends=True)[0])
            pieces = {"endless": ANSWER.splitlines(keepends=True)[0], "empty": b'{"message":{"content":""}}\n'}
            while (piece := pieces.get(body["messages"][-1]["content"])) and not done.wait(0.01):
                handler.wfile.write(piece)
            done.wait(5)
        except OSError:
            gone.set()
        return None

    with loopback(slow) as url:
        backend = Ollama("qwen3:8b", OllamaServer(url, ServerOptions(timeout_seconds=0.5)))
        for question in (USER, Message("u", "user", "empty")):
            with pytest.raises(ModelError, match=r"for 0\.5 seconds"):
                list(backend.stream([question], []))
        gone.clear()
        endless = backend.stream([Message("u", "user", "endless")], [])
        assert isinstance(next(endless), Waiting)
        assert isinstance(next(endless), Sent)
        next(endless)
        endless.close()
        assert gone.wait(5)
        done.set()


def test_a_stream_that_never_starts_is_given_up_on() -> None:
    done = Event()

    def silent(handler: Any, body: Any) -> None:
        if handler.path != "/api/chat":
            return send(handler, SHOW if body else PS)
        done.wait(5)
        return None

    with loopback(silent) as url:
        with pytest.raises(ModelError, match=r"nothing came from .* for 0\.5 seconds") as caught:
            list(Ollama("qwen3:8b", OllamaServer(url, ServerOptions(timeout_seconds=0.5))).stream([USER], []))
        assert "loading" in caught.value.fix
        done.set()


def test_a_server_that_dies_is_told_as_that() -> None:
    def dying(handler: Any, body: Any) -> None:
        if handler.path != "/api/chat":
            return send(handler, SHOW if body else PS)
        handler.send_response(200)
        handler.send_header("Content-Length", "100000")
        handler.end_headers()
        handler.wfile.write(ANSWER[:200])
        return None

    with loopback(dying) as url, pytest.raises(ModelError, match="stopped in the middle of a reply"):
        list(Ollama("qwen3:8b", OllamaServer(url)).stream([USER], []))


def test_nothing_listening() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}"
    server = OllamaServer(url)
    for ask in (lambda: list(Ollama("x", server).stream([USER], [])), server.models, server.version):
        with pytest.raises(ModelError, match="nothing answers at") as caught:
            ask()
        assert "ollama serve" in caught.value.fix
    assert Ollama("x", server).check() == ""


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_something_before_the_server_wants_is_no_matter_of_the_model(status: int) -> None:
    with pytest.raises(ModelError, match=f"wants a key, and Ollama is sent none \\({status}\\)") as caught:
        server(Wire(tags=(status, b'{"error":"unauthorized"}'))).models()
    assert "ssh -L" in caught.value.fix


def test_a_certificate_that_is_not_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate = self_signed(tmp_path)
    with served(certificate=certificate) as (_, url):
        server = OllamaServer(url)
        with pytest.raises(ModelError, match="is not trusted: self-signed certificate") as caught:
            server.version()
        assert "SSL_CERT_FILE" in caught.value.fix
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert server.version() == "0.34.1", "trusted where the user says so"
        with pytest.raises(ModelError) as caught:
            OllamaServer(url.replace("https:", "http:")).version()
        assert caught.value.fix


def test_plain_http_is_no_tls() -> None:
    with served() as (_, url), pytest.raises(ModelError, match="no secure connection") as caught:
        OllamaServer(url.replace("http:", "https:")).version()
    assert "http://" in caught.value.fix
