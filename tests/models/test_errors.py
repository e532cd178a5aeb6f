"""What a user is told when a server refuses, breaks off, is busy or is not there: one table for both servers."""

from __future__ import annotations

import json
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import ollama_wire, openai_wire
from tests.support.both_servers import SERVERS, begun, failure
from tests.support.certificate import self_signed
from tests.support.openai_wire import CHAT, MODELS, USER, chunk
from tests.support.scripted_server import Front, Serving, front, says
from tests.support.wire import PAGE, Chunks
from thimble.agent.errors import ModelError
from thimble.agent.messages import Message
from thimble.agent.protocols import Sent, Text, Waiting
from thimble.models import backend_on, server_at
from thimble.models.ollama.server import OllamaServer
from thimble.models.openai.errors import refusal_error
from thimble.models.server import ServerOptions, TooLong, ToolsRefused
from thimble.models.wire.retry import Busy


def worded(words: str, **more: object) -> bytes:
    return json.dumps({"error": {"message": words, **more}}).encode()


MISSING = b'{"error":"model \'qwen2.5:7b\' not found"}'
EITHER = [
    (502, PAGE, "status 502: a web page", ""),
    (500, b"", "no reason given", "log"),
    (500, b"x" * 9000, "status 500: xxx", "log"),
    (400, b'{"error":{"code":400,"message":"bad\\nrequest"}}', "status 400: bad request", "log"),
    (200, PAGE, "it answered a web page", "--base-url"),
    (200, b"[1]\n", "it answered '[1]'", "--base-url"),
    (429, worded("slow down"), "is busy (429): slow down", "again"),
    (503, worded("queue full"), "is busy (503): queue full", "again"),
    ((307, b"", {"location": "https://box.example/v1"}), None, "redirects requests to https://box", "--base-url"),
    ((429, worded("slow"), {"retry-after": "3600"}), None, "is busy (429): slow", "ask again in 3600 seconds"),
    (httpx.ConnectError("[Errno 111] Connection refused"), None, "nothing answers at {url} (Connection r", "serve"),
    (httpx.ConnectTimeout(""), None, "nothing answers at {url} (timed out)", "serve"),
    (httpx.ReadTimeout("timed out"), None, "{url} sent nothing for 300 seconds", "loading"),
    (httpx.ReadError("reset"), None, "closed the connection without a reply", "log"),
    (httpx.WriteError("broken pipe"), None, "closed the connection without a reply", "log"),
    (httpx.ProxyError("403 Forbidden"), None, "the proxy in front of {url} refuses: 403 Forbidden", "NO_PROXY"),
    (httpx.DecodingError("gzip"), None, "stopped in the middle of a reply", "log"),
    (httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed (_ssl.c:1006)"), None,
     "is not trusted: self-signed", "SSL_CERT_FILE"),
]  # fmt: skip
OLLAMA = [
    (404, MISSING, "not installed", "ollama pull qwen2.5:7b (installed: llama3.2:3b, qwen2.5:7b)"),
    (404, b"404 page not found", "no Ollama at http://127.0.0.1:11434 (404: 404 page", "--backend openai"),
    (401, b'{"error":"unauthorized","signin_url":"x"}', "may not use this model: unauthorized", "ollama signin"),
    (200, b'{"message":"hello"}\n', "hello", "--base-url"),
    (200, b'{"message":{"tool_calls":[7]}}\n', "7", "--base-url"),
    (200, b"\xff\xfe\n", "not an Ollama server", "--base-url"),
    (200, b'{"message":{"tool_calls":7}}\n', "7", "--base-url"),
    (200, b"", "stopped in the middle of a reply", "log"),
    (200, b'{"message":{"content":"A"}}\n{"message":{"con', "stopped in the middle of a reply", "log"),
    (ollama_wire.Wire(chat=(404, MISSING), tags=(500, b"")), None, "not installed", "ollama pull qwen2.5:7b"),
    (ollama_wire.Wire(chat=(404, MISSING), tags=(404, MISSING)), None, "not installed", "ollama pull qwen2.5:7b"),
]
OPENAI = [
    (404, worded("The model `x` does not exist. Valid aliases: tiny."), "has no model 'tiny'", "that it has: tiny"),
    (404, worded("File Not Found", code=404), "has no /v1/chat/completions", "the part before /v1"),
    (404, PAGE, "has no /v1/chat/completions: a web page", "the part before /v1"),
    (405, b'{"detail":"Method Not Allowed"}', "status 405", "address"),
    (401, b'{"error":"Unauthorized"}', "requires a key (401)", "THIMBLE_API_KEY"),
    (403, worded("Forbidden"), "requires a key (403)", "THIMBLE_API_KEY"),
    (413, b"Request Entity Too Large", "longer than the model's context", "--budget"),
    (200, b'{"choices":7}', "does not speak", "--base-url"),
    (200, b'{"error":"Unexpected endpoint or method. (POST /v1/chat/completions)"}', "Unexpected endpoint", "log"),
    (200, b"data: [1]\n\n", "does not speak", "--base-url"),
    (200, b"data: hello\n\n", "stopped in the middle", "log"),
    (200, b": only a comment\n\nI am no event\n\n", "it answered 'I am no event'", "--base-url"),
    (200, b"", "it answered nothing", "--base-url"),
    (200, b": ping\n\n", "stopped in the middle", "log"),
    (200, b'data: {"choices":[{"delta":{"con', "stopped in the middle of a reply", "log"),
    (openai_wire.Wire({CHAT: (404, worded("The model `x` does not exist.")), MODELS: (500, b"")}), None,
     "has no model 'tiny'", ""),
]  # fmt: skip
ROWS = [
    *((server, *row) for server in SERVERS for row in EITHER),
    *(("ollama", *row) for row in OLLAMA),
    *(("openai", *row) for row in OPENAI),
]
"""The server, its status and body (or None, and before it another reply), what is said, and how to mend it."""


@pytest.mark.parametrize(("server", "reply", "body", "what", "fix"), ROWS)
def test_a_refusal_says_what_is_wrong_and_how_to_mend_it(
    server: str, reply: Any, body: bytes | None, what: str, fix: str
) -> None:
    error = failure(server, reply if body is None else (reply, body))
    assert what.format(url=SERVERS[server].url) in error.what
    assert fix in error.fix
    assert isinstance(error, Busy) == ("busy" in what or "without a reply" in what)


@given(st.integers(300, 599), st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_refusal_is_two_lines(status: int, body: bytes) -> None:
    told = refusal_error(status, body.decode(errors="replace"), "tiny", "http://box")
    assert "\n" not in told.what + told.fix
    assert told.fix


@pytest.mark.parametrize("status", [200, 400, 500])
def test_ollama_tells_the_tokens_of_a_prompt_that_is_too_long(status: int) -> None:
    """They come as JSON in a text, from the model's own process."""
    words = "request (6010 tokens) exceeds the available context size (4096 tokens), try increasing it"
    inner = {"code": 400, "message": words, "type": "exceed_context_size_error", "n_prompt_tokens": 6010, "n_ctx": 4096}
    error = failure("ollama", (status, json.dumps({"error": json.dumps({"error": inner})}).encode()))
    assert isinstance(error, TooLong)
    assert error.what == "the prompt has 6,010 tokens, but the model is loaded with a context of 4,096"
    assert error.fix.startswith("lower the budget: /budget 2048, --budget 2048")


@pytest.mark.parametrize("status", [401, 403])
def test_a_proxy_in_front_of_ollama_may_require_a_key(status: int) -> None:
    wire = ollama_wire.Wire(tags=(status, b'{"error":"unauthorized"}'))
    with pytest.raises(ModelError, match=f"requires a key, and thimble sends none \\({status}\\)") as caught:
        ollama_wire.server(wire).models()
    assert "ssh -L" in caught.value.fix


def test_http_is_not_https_and_https_is_not_http(tmp_path: Path) -> None:
    version = says("200 OK", b'{"version":"0.13.0"}')
    with front(otherwise=version) as plain, pytest.raises(ModelError, match="no secure connection") as caught:
        OllamaServer(plain.url.replace("http:", "https:")).version()
    assert "http://" in caught.value.fix
    with Front(lambda _: version, self_signed(tmp_path)) as secure, pytest.raises(ModelError) as caught:
        OllamaServer(secure.url.replace("https:", "http:")).version()
    assert caught.value.fix


# ---- in the middle ----

BROKEN = worded("EngineCore encountered an issue", code=500)


@pytest.mark.parametrize(
    ("server", "body"),
    [
        ("ollama", ollama_wire.ANSWER.split(b"\n")[0] + b"\n" + BROKEN + b"\n"),
        ("openai", chunk('"content":"A"') + b"data: " + BROKEN + b"\n\n"),
        ("openai", chunk('"content":"A"') + b"error: " + json.dumps(json.loads(BROKEN)["error"]).encode() + b"\n\n"),
    ],
)
def test_an_error_in_the_middle_comes_after_the_words(server: str, body: bytes) -> None:
    with pytest.raises(ModelError, match="aborted its reply: EngineCore encountered an issue"):
        next(begun(server, body))


def test_tools_that_are_refused_in_the_middle_are_a_broken_reply() -> None:
    refused = b"data: " + worded("tools param requires --jinja flag") + b"\n\n"
    with pytest.raises(ModelError) as caught:
        next(begun("openai", chunk('"content":"A"') + refused))
    assert not isinstance(caught.value, ToolsRefused)


@pytest.mark.parametrize("server", SERVERS)
def test_closing_the_stream_closes_the_response(server: str) -> None:
    line, end, _ = SERVERS[server].answer.partition(b"\n")
    body = Chunks([line + end if server == "ollama" else chunk('"content":"A"')] * 100)
    stream = begun(server, body)
    assert not body.closed
    stream.close()
    assert body.closed


@pytest.mark.parametrize("kind", SERVERS)
def test_a_silent_server_is_given_up_on_and_sees_that_a_reply_is_cancelled(kind: str) -> None:
    options = ServerOptions(timeout_seconds=0.3, reply_seconds=2)
    with Serving(kind) as server:
        model = backend_on(server_at(kind, server.url, options), "tiny", 100)
        with pytest.raises(ModelError, match=r"sent nothing for 0\.3 s"):
            list(model.stream([USER], []))
    word = {"ollama": b'{"message":{"content":"A"}}\n', "openai": chunk('"content":"A"')}[kind]
    with Serving(kind, (b"HTTP/1.1 200 OK\r\n\r\n", *(word, 0.01) * 1_000)) as server:
        endless = backend_on(server_at(kind, server.url, options), "tiny", 100).stream([Message("u", "user", "?")], [])
        assert Text("A") in islice(endless, 3)
        endless.close()
        server.sees_the_client_go()


# ---- a busy server ----

AFTER_SEVEN = (429, b"", {"retry-after": "7"})


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize(
    ("busy", "state"),
    [
        ((429, worded("Too many requests")), "the server is busy"),
        ((503, worded("queue full")), "the server is busy"),
        ((503, worded("Loading model", type="unavailable_error", code=503)), "the model is loading"),
        (httpx.RemoteProtocolError("Server disconnected"), "the connection was lost"),
        (httpx.ReadError("reset"), "the connection was lost"),
        (AFTER_SEVEN, "the server is busy"),
    ],
)
def test_a_busy_server_is_asked_again_before_the_first_token(server: str, busy: Any, state: str) -> None:
    replies = [busy, busy, SERVERS[server].answer]
    deltas = [*SERVERS[server].backend(lambda _: replies.pop(0)).stream([USER], [])]
    waits = [delta for delta in deltas if isinstance(delta, Waiting) and not delta.what.startswith("loading")]
    assert [wait.what.partition(":")[0] for wait in waits] == [state] * 2
    assert sum(isinstance(delta, Sent) for delta in deltas) == 1, "however often it is asked"
    assert Text("A thimble") in deltas
    assert busy != AFTER_SEVEN or [wait.seconds for wait in waits] == [7, 7]
