"""What a user is told when a server refuses, breaks off or is not there: one table for both kinds of server."""

from __future__ import annotations

import json
from itertools import islice
from threading import Event
from typing import Any

import httpx
import pytest

from tests.support import ollama_wire, openai_wire
from tests.support.both_servers import SERVERS, begun, failure
from tests.support.ollama_wire import PAGE, Chunks
from tests.support.openai_wire import CHAT, MODELS, chunk
from thimble.agent.errors import ModelError
from thimble.agent.messages import Message
from thimble.agent.protocols import Text
from thimble.models import backend_on, server_at
from thimble.models.server import ServerOptions, ToolsRefused


def worded(words: str, **more: object) -> bytes:
    return json.dumps({"error": {"message": words, **more}}).encode()


EITHER = [
    (502, PAGE, "status 502: a web page", ""),
    (500, b"", "no reason given", "log"),
    (500, b"x" * 9000, "status 500: xxx", "log"),
    (400, b'{"error":{"code":400,"message":"bad\\nrequest"}}', "status 400: bad request", "log"),
    (200, PAGE, "it answered a web page", "--base-url"),
    (200, b"[1]\n", "it answered '[1]'", "--base-url"),
]
OLLAMA = [
    (404, b'{"error":"model \\"qwen2.5:7b\\" not found, try pulling it first"}', "not installed",
     "ollama pull qwen2.5:7b (installed: llama3.2:3b, qwen2.5:7b)"),
    (404, b"404 page not found", "no Ollama at http://127.0.0.1:11434 (404: 404 page", "--backend openai"),
    (429, b'{"error":"too many requests"}', "is busy (429): too many requests", "again"),
    (401, b'{"error":"unauthorized","signin_url":"x"}', "may not use this model: unauthorized", "ollama signin"),
    (503, b'{"error":"server busy, please try again. maximum pending requests exceeded"}', "is busy", "again"),
    (200, b'{"message":"hello"}\n', "hello", "--base-url"),
    (200, b'{"message":{"tool_calls":[7]}}\n', "7", "--base-url"),
    (200, b"\xff\xfe\n", "not an Ollama server", "--base-url"),
    (200, b'{"message":{"tool_calls":7}}\n', "7", "--base-url"),
    (200, b"", "stopped in the middle of a reply", "log"),
    (200, b'{"message":{"content":"A"}}\n{"message":{"con', "stopped in the middle of a reply", "log"),
]  # fmt: skip
OPENAI = [
    (404, worded("The model `x` does not exist. Valid aliases: tiny."), "has no model 'tiny'", "that it has: tiny"),
    (404, b'{"detail":"Not Found"}', "has no /v1/chat/completions: Not Found", "--base-url"),
    (404, worded("File Not Found", code=404), "has no /v1/chat/completions", "what comes before /v1"),
    (404, PAGE, "has no /v1/chat/completions: a web page", "what comes before /v1"),
    (405, b'{"detail":"Method Not Allowed"}', "status 405", "address"),
    (401, b'{"error":"Unauthorized"}', "requires a key (401)", "THIMBLE_API_KEY"),
    (403, worded("Forbidden"), "requires a key (403)", "THIMBLE_API_KEY"),
    (500, worded("Internal Server Error"), "status 500: Internal", "log"),
    (413, b"Request Entity Too Large", "longer than the model's context", "--budget"),
    (200, b'{"choices":7}', "does not speak", "--base-url"),
    (200, b'{"error":"Unexpected endpoint or method. (POST /v1/chat/completions)"}', "Unexpected endpoint", "log"),
    (200, b"data: [1]\n\n", "does not speak", "--base-url"),
    (200, b"data: hello\n\n", "stopped in the middle", "log"),
    (200, b": only a comment\n\nI am no event\n\n", "it answered 'I am no event'", "--base-url"),
    (200, b"", "it answered nothing", "--base-url"),
    (200, b": ping\n\n", "stopped in the middle", "log"),
    (200, b'data: {"choices":[{"delta":{"con', "stopped in the middle of a reply", "log"),
]
ROWS = [
    *((server, *row) for server in SERVERS for row in EITHER),
    *(("ollama", *row) for row in OLLAMA),
    *(("openai", *row) for row in OPENAI),
]


@pytest.mark.parametrize(("server", "status", "body", "what", "fix"), ROWS)
def test_each_refusal_says_what_and_how_to_mend_it(server: str, status: int, body: bytes, what: str, fix: str) -> None:
    error = failure(server, (status, body))
    assert what in error.what
    assert fix in error.fix


@pytest.mark.parametrize(
    ("server", "wire", "told"),
    [
        ("ollama", ollama_wire.Wire(chat=(404, b'{"error":"model \'x\' not found"}'), tags=(500, b"")),
         "ollama pull qwen2.5:7b"),
        ("openai", openai_wire.Wire({CHAT: (404, worded("The model `x` does not exist.")), MODELS: (500, b"")}),
         "has no model 'tiny'"),
    ],
)  # fmt: skip
def test_a_missing_model_is_named_missing_though_no_list_can_be_had(server: str, wire: Any, told: str) -> None:
    error = failure(server, wire)
    assert told in f"{error.what}; {error.fix}"


BROKEN = worded("EngineCore encountered an issue", code=500)


@pytest.mark.parametrize(
    ("server", "body"),
    [
        ("ollama", ollama_wire.ANSWER.split(b"\n")[0] + b"\n" + BROKEN + b"\n"),
        ("openai", chunk('"content":"A"') + b"data: " + BROKEN + b"\n\n"),
        ("openai", chunk('"content":"A"') + b"error: " + json.dumps(json.loads(BROKEN)["error"]).encode() + b"\n\n"),
    ],
)
def test_an_error_in_the_middle_comes_after_what_was_said(server: str, body: bytes) -> None:
    with pytest.raises(ModelError, match="aborted its reply: EngineCore encountered an issue"):
        next(begun(server, body))


def test_a_refusal_of_tools_in_the_middle_is_no_refusal() -> None:
    refused = b"data: " + worded("tools param requires --jinja flag") + b"\n\n"
    with pytest.raises(ModelError) as caught:
        next(begun("openai", chunk('"content":"A"') + refused))
    assert not isinstance(caught.value, ToolsRefused)


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize(
    ("raised", "what", "fix"),
    [
        (httpx.ConnectError("[Errno 111] Connection refused"), "nothing answers at {url} (Connection r", "serve"),
        (httpx.ConnectTimeout(""), "nothing answers at {url} (timed out)", "serve"),
        (httpx.ReadTimeout("timed out"), "nothing came from {url} for 300 seconds", "loading"),
        (httpx.ReadError("reset"), "closed the connection without a reply", "log"),
        (httpx.WriteError("broken pipe"), "closed the connection without a reply", "log"),
        (httpx.ProxyError("403 Forbidden"), "the proxy before {url} refuses: 403 Forbidden", "NO_PROXY"),
        (httpx.DecodingError("gzip"), "stopped in the middle of a reply", "log"),
        (
            httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed (_ssl.c:1006)"),
            "is not trusted: self-signed",
            "SSL_CERT_FILE",
        ),
    ],
)
def test_a_broken_connection_says_which(server: str, raised: Exception, what: str, fix: str) -> None:
    error = failure(server, raised)
    assert what.format(url=SERVERS[server].url) in error.what
    assert fix in error.fix


@pytest.mark.parametrize("server", SERVERS)
def test_a_redirect_is_not_followed(server: str) -> None:
    error = failure(server, (307, b"", {"location": "https://box.example/v1/chat/completions"}))
    assert "sends requests on to https://box" in error.what
    assert "--base-url" in error.fix


@pytest.mark.parametrize("server", SERVERS)
def test_closing_midway_closes_the_response(server: str) -> None:
    line, end, _ = SERVERS[server].answer.partition(b"\n" if server == "ollama" else b"\n\n")
    first = SERVERS[server].answer[: len(line + end)] if server == "ollama" else chunk('"content":"A"')
    body = Chunks([first] * 100)
    stream = begun(server, body)
    assert not body.closed
    stream.close()
    assert body.closed


QUIET = {
    "ollama": {
        "silent": b"",
        "empty": b'{"message":{"content":""}}\n',
        "endless": b'{"message":{"content":"A"}}\n',
    },
    "openai": {
        "silent": b"",
        "comments": b": still here\n\n",
        "empty": chunk('"content":""'),
        "endless": chunk('"content":"A"'),
    },
}
"""Of what each server sends one piece after another, by the question."""


@pytest.mark.parametrize("kind", QUIET)
def test_a_reply_that_never_ends_is_given_up_on_and_a_server_notices_that_it_is_cancelled(kind: str) -> None:
    gone, done = Event(), Event()

    def slow(handler: Any, body: Any) -> None:
        if not body or "messages" not in body:
            return ollama_wire.send(handler, ollama_wire.SHOW if body else ollama_wire.PS)
        piece = QUIET[kind][body["messages"][-1]["content"]]
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream")
        handler.end_headers()
        try:
            while piece and not done.wait(0.01):
                handler.wfile.write(piece)
            done.wait(5)
        except OSError:
            gone.set()
        return None

    with ollama_wire.loopback(slow) as url:
        model = backend_on(server_at(kind, url, ServerOptions(timeout_seconds=0.3, reply_seconds=2)), "tiny", 100)
        for words in [*QUIET[kind]][:-1]:
            with pytest.raises(ModelError, match=r"nothing came from .* for 0\.3 s|no whole answer came"):
                list(model.stream([Message("u", "user", words)], []))
        gone.clear()
        endless = model.stream([Message("u", "user", "endless")], [])
        assert Text("A") in islice(endless, 3)
        endless.close()
        assert gone.wait(5)
        done.set()
