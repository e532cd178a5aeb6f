from __future__ import annotations

import json
import socket
from collections.abc import Generator
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ModelError
from agent.messages import Message
from agent.protocols import Delta, Sent, Text, Waiting
from models.ollama.backend import Ollama
from models.ollama.server import OllamaServer
from models.server import ServerOptions
from tests.support.certificate import self_signed
from tests.support.ollama_http import served
from tests.support.ollama_wire import ANSWER, PAGE, PS, SHOW, Chunks, Wire, loopback, model, send, server

USER = Message("u", "user", "What holds 2 ml?")
TOOL = {"type": "function", "function": {"name": "list_articles", "description": "List.", "parameters": {}}}


def reply(wire: Wire) -> list[Delta]:
    return list(model(wire).stream([USER], [TOOL]))


def failure(wire: Wire) -> ModelError:
    with pytest.raises(ModelError) as caught:
        reply(wire)
    assert "\n" not in caught.value.what + caught.value.fix
    assert caught.value.fix
    return caught.value


def begun(wire: Wire) -> Generator[Delta, None, None]:
    """A stream whose first words have come."""
    stream = model(wire).stream([USER], [])
    assert isinstance(next(stream), Waiting)
    assert isinstance(next(stream), Sent)
    assert next(stream) == Text("A thimble")
    return stream


OVERFLOWS = [
    "input length exceeds maximum context length",
    "the input length exceeds the context length",
    "request (40960 tokens) exceeds the available context size (4096 tokens), try increasing it",
    "prompt is too long: 9000 tokens",
    "prompt too long; exceeded max context length by 5 tokens",
    "context limit hit - shift disabled",
]


@pytest.mark.parametrize("words", OVERFLOWS)
@pytest.mark.parametrize("status", [400, 500, 200])
def test_a_prompt_that_is_too_long_is_told_as_that(words: str, status: int) -> None:
    error = failure(Wire(chat=(status, json.dumps({"error": words}).encode())))
    assert "longer than the model's context" in error.what
    assert words in error.what
    assert "--budget" in error.fix


@pytest.mark.parametrize(
    ("status", "body", "what", "fix"),
    [
        (400, b'{"error":"registry.ollama.ai/library/phi does not support tools"}', "cannot call tools", "--model"),
        (400, b'{"error":"\\"qwen2.5:7b\\" does not support thinking"}', "cannot think", "--think off"),
        (404, b'{"error":"model \\"qwen2.5:7b\\" not found, try pulling it first"}', "not installed",
         "ollama pull qwen2.5:7b (installed: llama3.2:3b, qwen2.5:7b)"),
        (404, b"404 page not found", "no Ollama at this address (404: 404 page", "--backend openai"),
        (429, b'{"error":"too many requests"}', "is busy: too many requests", "again"),
        (401, b'{"error":"unauthorized","signin_url":"x"}', "may not use this model: unauthorized", "ollama signin"),
        (400, b'{"error":"\\"nomic-embed-text\\" does not support chat"}', "cannot chat", "--model"),
        (503, b'{"error":"server busy, please try again. maximum pending requests exceeded"}', "is busy", "again"),
        (500, b'{"error":"model requires more system memory (9.1 GiB) than 3.0 GiB"}', "9.1 GiB", "smaller"),
        (400, b'{"error":{"code":400,"message":"bad\\nrequest"}}', "status 400: bad request", "log"),
        (502, PAGE, "status 502: a web page", "address"),
        (500, b"", "no reason given", "log"),
        (500, b"x" * 9000, "status 500: xxx", "log"),
        (200, PAGE, "a web page", "--base-url"),
        (200, b"[1]\n", "[1]", "--base-url"),
        (200, b'{"message":"hello"}\n', "hello", "--base-url"),
        (200, b'{"message":{"tool_calls":[7]}}\n', "7", "--base-url"),
        (200, b"\xff\xfe\n", "language", "--base-url"),
        (200, b'{"message":{"tool_calls":7}}\n', "7", "--base-url"),
        (200, b"", "stopped in the middle of a reply", "log"),
        (200, b'{"message":{"content":"A"}}\n{"message":{"con', "stopped in the middle of a reply", "log"),
    ],
)  # fmt: skip
def test_each_refusal_says_what_and_how_to_mend_it(status: int, body: bytes, what: str, fix: str) -> None:
    error = failure(Wire(chat=(status, body)))
    assert what in error.what
    assert fix in error.fix
    assert len(error.what) < 400


def test_a_missing_model_is_named_missing_though_no_list_can_be_had() -> None:
    wire = Wire(chat=(404, b'{"error":"model \'x\' not found"}'), tags=(500, b""))
    assert failure(wire).fix == "ollama pull qwen2.5:7b"


def test_an_error_in_the_middle_comes_after_what_was_said() -> None:
    body = ANSWER.split(b"\n")[0] + b'\n{"error":"llama runner process has terminated: exit status 2"}\n'
    stream = begun(Wire(chat=body))
    with pytest.raises(ModelError, match="broke off its reply: llama runner process has terminated"):
        next(stream)


@given(st.integers(0, ANSWER.rindex(b"\n") - 1))
def test_a_stream_that_ends_too_early_is_never_taken_for_a_reply(end: int) -> None:
    cut = ANSWER[:end]
    if cut.endswith(b"}"):
        failure(Wire(chat=cut))
        return
    with pytest.raises(ModelError):
        reply(Wire(chat=cut))
    error = failure(Wire(chat=Chunks([cut, httpx.RemoteProtocolError("peer closed connection")])))
    assert ("stopped in the middle of a reply" if b"\n" in cut else "closed the connection without") in error.what


@pytest.mark.parametrize(
    ("error", "what"),
    [
        (httpx.ConnectError("[Errno 111] Connection refused"), "nothing answers at http://127.0.0.1:11434"),
        (httpx.ConnectTimeout(""), "nothing answers at http://127.0.0.1:11434 (timed out)"),
        (httpx.ReadTimeout("timed out"), "nothing came from http://127.0.0.1:11434 for 300 seconds"),
        (httpx.ReadError("reset"), "closed the connection without a reply"),
        (httpx.ProxyError("403 Forbidden"), "the proxy before http://127.0.0.1:11434 refuses: 403 Forbidden"),
        (httpx.DecodingError("gzip"), "stopped in the middle of a reply"),
    ],
)
def test_a_broken_connection_says_which(error: Exception, what: str) -> None:
    assert what in failure(Wire(chat=error)).what


def test_closing_midway_closes_the_response() -> None:
    body = Chunks([line + b"\n" for line in ANSWER.splitlines()[:1] * 100])
    stream = begun(Wire(chat=body))
    assert not body.closed
    stream.close()
    assert body.closed


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


def test_a_redirect_is_not_followed() -> None:
    def elsewhere(handler: Any, body: Any) -> None:
        handler.send_response(307)
        handler.send_header("Location", "https://box.example/api/chat")
        handler.send_header("Content-Length", "0")
        handler.end_headers()

    with loopback(elsewhere) as url:
        with pytest.raises(ModelError, match="sends requests on to https://box") as caught:
            list(Ollama("x", OllamaServer(url)).stream([USER], []))
        assert "--base-url" in caught.value.fix


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
