from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from agent.errors import ModelError
from agent.protocols import Sent, Text, Waiting
from models import checks
from models.openai import key
from models.openai.errors import refusal
from models.openai.server import OpenAIServer
from models.server import ToolsRefused
from models.wire.retry import Busy
from tests.support.ollama_wire import Chunks
from tests.support.openai_wire import ANSWER, CHAT, MODELS, PAGE, SYSTEM, TOOL, URL, USER, Reply, Wire, backend, chunk

SECRET = "sk-thimble-0123456789"


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in key.VARIABLES:
        monkeypatch.delenv(name, raising=False)


def failure(body: Reply | Wire, **settings: Any) -> ModelError:
    wire = body if isinstance(body, Wire) else Wire({CHAT: lambda _: body})
    with pytest.raises(ModelError) as caught:
        list(backend(wire, **settings).stream([SYSTEM, USER], [TOOL]))
    assert "\n" not in caught.value.what + caught.value.fix
    assert caught.value.fix
    assert len(caught.value.what) < 450
    return caught.value


def error(words: str, **more: object) -> bytes:
    return json.dumps({"error": {"message": words, **more}}).encode()


VLLM_LONG = (
    "This model's maximum context length is 8192 tokens. However, your prompt contains at least 8193 input tokens, "
    "which exceeds this limit even without any output tokens. Please reduce the length of the input prompt."
)
LONG = [
    VLLM_LONG,
    "max_tokens=9000 cannot be greater than max_model_len=8192. Please request fewer output tokens.",
    "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (4000 in the messages, "
    "1000 in the completion). Please reduce the length of the messages or completion.",
    "the request exceeds the available context size, try increasing it",
    "request (9020 tokens) exceeds the available context size (8192 tokens), try increasing it",
    "The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
    "prompt is too long: 9000 tokens > 8192 maximum",
    "Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length "
    "of only 4096 tokens, which is not enough.",
    "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
]


@pytest.mark.parametrize("words", LONG)
@pytest.mark.parametrize("shape", ["object", "flat", "text"])
def test_400_for_length_in_its_many_wordings(words: str, shape: str) -> None:
    flat = json.dumps({"object": "error", "message": words, "type": "BadRequestError", "code": 400}).encode()
    told = failure((400, {"object": error(words, code=400), "flat": flat, "text": words.encode()}[shape]))
    assert "longer than the model's context" in told.what
    assert "--budget" in told.fix


TOOLLESS = [
    '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
    "tools param requires --jinja flag",
    "Tools are not supported for this model",
    "This model does not support tools",
    "registry/phi does not support function calling",
    "tool calling is not supported by this chat template",
]


@pytest.mark.parametrize("words", TOOLLESS)
@pytest.mark.parametrize("status", [400, 500, 200])
def test_no_tool_support_is_a_kind_of_its_own(words: str, status: int) -> None:
    told = failure((status, error(words, code=400)))
    assert isinstance(told, ToolsRefused)
    assert "--tool-call-parser" in told.fix
    assert "--jinja" in told.fix


def test_a_refusal_of_tools_in_the_middle_is_no_refusal() -> None:
    stream = backend(Wire({CHAT: chunk('"content":"A"') + b"data: " + error(TOOLLESS[0]) + b"\n\n"})).stream(
        [USER], [TOOL]
    )
    assert isinstance(next(stream), Sent)
    assert next(stream) == Text("A")
    with pytest.raises(ModelError) as caught:
        next(stream)
    assert not isinstance(caught.value, ToolsRefused)


@pytest.mark.parametrize(
    ("status", "body", "what", "fix"),
    [
        (404, error("The model `x` does not exist. Valid aliases: tiny."), "has no model 'tiny'", "that it has: tiny"),
        (404, b'{"detail":"Not Found"}', "has no /v1/chat/completions: Not Found", "--base-url"),
        (404, error("File Not Found", code=404), "has no /v1/chat/completions", "what comes before /v1"),
        (404, PAGE, "has no /v1/chat/completions: a web page", "what comes before /v1"),
        (405, b'{"detail":"Method Not Allowed"}', "status 405", "address"),
        (401, b'{"error":"Unauthorized"}', "wants a key (401)", "THIMBLE_API_KEY"),
        (403, error("Forbidden"), "wants a key (403)", "THIMBLE_API_KEY"),
        (500, error("Internal Server Error"), "failed with status 500: Internal", "log"),
        (502, PAGE, "failed with status 502: a web page", "log"),
        (500, b"", "no reason given", "log"),
        (500, b"x" * 9000, "status 500: xxx", "log"),
        (500, error("CUDA out of memory. Tried to allocate 2 GiB"), "Tried to allocate 2 GiB", "smaller"),
        (413, b"Request Entity Too Large", "longer than the model's context", "--budget"),
        (400, error("Conversation roles must alternate user/assistant"), "chat template refuses", "--model"),
        (400, error("Unsupported parameter: 'reasoning_effort'"), "--think", "--think on"),
        (400, b'{"error":{"code":400,"message":"bad\\nrequest"}}', "status 400: bad request", "log"),
        (200, PAGE, "does not speak chat completions: it answered a web page", "--base-url"),
        (200, b"[1]", "it answered '[1]'", "--base-url"),
        (200, b'{"choices":7}', "does not speak", "--base-url"),
        (200, b'{"error":"Unexpected endpoint or method. (POST /v1/chat/completions)"}', "Unexpected endpoint", "log"),
        (200, b"data: [1]\n\n", "does not speak", "--base-url"),
        (200, b"data: hello\n\n", "stopped in the middle", "log"),
        (200, b": only a comment\n\nI am no event\n\n", "it answered 'I am no event'", "--base-url"),
        (200, b"", "it answered nothing", "--base-url"),
        (200, b": ping\n\n", "stopped in the middle", "log"),
        (200, b'data: {"choices":[{"delta":{"con', "stopped in the middle of a reply", "log"),
    ],
)  # fmt: skip
def test_each_refusal_says_what_and_how_to_mend_it(status: int, body: bytes, what: str, fix: str) -> None:
    told = failure((status, body))
    assert what in told.what
    assert fix in told.fix


@given(st.integers(300, 599), st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_refusal_can_be_told(status: int, body: bytes) -> None:
    told = refusal(status, body.decode(errors="replace"), "tiny", URL)
    assert "\n" not in told.what + told.fix
    assert told.fix


def test_a_missing_model_is_named_missing_though_no_list_can_be_had() -> None:
    told = failure(Wire({CHAT: (404, error("The model `x` does not exist.")), MODELS: (500, b"")}))
    assert "has no model 'tiny'" in told.what


@pytest.mark.parametrize("field", [b"data: ", b"error: "])
def test_an_error_in_the_middle_comes_after_what_was_said(field: bytes) -> None:
    said = error("EngineCore encountered an issue", code=500)
    said = said if field == b"data: " else json.dumps(json.loads(said)["error"]).encode()
    stream = backend(Wire({CHAT: chunk('"content":"A"') + field + said + b"\n\n"})).stream([USER], [])
    assert isinstance(next(stream), Sent)
    assert next(stream) == Text("A")
    with pytest.raises(ModelError, match="broke off its reply: EngineCore encountered an issue"):
        next(stream)


def test_a_stream_that_stops_in_the_middle_of_a_tool_call_gives_no_call() -> None:
    body = chunk('"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\\"x\\""}}]')
    assert "stopped in the middle of a reply" in failure(body).what
    lost = Chunks([body, httpx.RemoteProtocolError("peer closed connection")])
    assert "stopped in the middle of a reply" in failure(Wire({CHAT: lost})).what


@pytest.mark.parametrize(
    ("raised", "what", "fix"),
    [
        (httpx.ConnectError("[Errno 111] Connection refused"), f"nothing answers at {URL}", "vllm serve"),
        (httpx.ConnectTimeout(""), f"nothing answers at {URL} (timed out)", "llama-server"),
        (httpx.ReadTimeout("timed out"), f"nothing came from {URL} for 300 seconds", "loading"),
        (httpx.ProxyError("403 Forbidden"), "the proxy before", "NO_PROXY"),
        (
            httpx.ConnectError("[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: self-signed (_ssl.c:1006)"),
            "is not trusted: self-signed",
            "SSL_CERT_FILE",
        ),
    ],
)
def test_a_connection_that_cannot_be_made_says_which(raised: Exception, what: str, fix: str) -> None:
    told = failure(raised)
    assert what in told.what
    assert fix in told.fix


def test_a_redirect_is_not_followed() -> None:
    wire = Wire({CHAT: (307, b"", {"location": "http://elsewhere/v1/chat/completions"})})
    assert "sends requests on to http://elsewhere" in failure(wire).what
    assert wire.asked(CHAT) == 1


# ---- a busy server ----


@pytest.mark.parametrize(
    ("busy", "state"),
    [
        ((429, error("Too many requests")), "the server is busy"),
        ((503, error("queue full")), "the server is busy"),
        ((503, error("Loading model", type="unavailable_error", code=503)), "the model is loading"),
        (httpx.RemoteProtocolError("Server disconnected"), "the connection was lost"),
        (httpx.ReadError("reset"), "the connection was lost"),
    ],
)
def test_it_is_asked_again_before_the_first_token(busy: Reply, state: str) -> None:
    wire = Wire({CHAT: [busy, busy, ANSWER]})
    sent, *deltas = backend(wire).stream([USER], [])
    assert isinstance(sent, Sent), "once, however often it is asked"
    assert [delta.what.partition(":")[0] for delta in deltas if isinstance(delta, Waiting)] == [state] * 2
    assert deltas[2] == Text("A thimble")
    assert len(wire.pauses) == 2


def test_retry_after_is_kept_to() -> None:
    wire = Wire({CHAT: [(429, b"", {"retry-after": "7"}), ANSWER]})
    list(backend(wire).stream([USER], []))
    assert wire.pauses == [7]
    told = failure((429, error("slow down"), {"retry-after": "3600"}))
    assert (told.what, told.fix) == ("the server is busy (429): slow down", "ask again in 3600 seconds")


@pytest.mark.parametrize("status", [429, 503])
def test_a_server_that_stays_busy_is_told_so(status: int) -> None:
    told = failure((status, error("no capacity")))
    assert isinstance(told, Busy)
    assert told.what == f"the server is busy ({status}): no capacity"


def test_after_the_first_token_nothing_is_asked_again() -> None:
    wire = Wire({CHAT: Chunks([chunk('"content":"A"'), httpx.ReadError("reset")])})
    assert "stopped in the middle" in failure(wire).what
    assert (wire.asked(CHAT), wire.pauses) == (1, [])


# ---- the key ----


@pytest.mark.parametrize(
    ("variables", "shown"),
    [
        ({}, None),
        ({"VLLM_API_KEY": "c"}, "Bearer c"),
        ({"VLLM_API_KEY": "c", "OPENAI_API_KEY": "b"}, "Bearer b"),
        ({"VLLM_API_KEY": "c", "OPENAI_API_KEY": "b", "THIMBLE_API_KEY": " a\n"}, "Bearer a"),
        ({"OPENAI_API_KEY": "b", "THIMBLE_API_KEY": " "}, "Bearer b"),
    ],
)
def test_the_key_is_the_environments(
    variables: dict[str, str], shown: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    wire = Wire({CHAT: ANSWER})
    list(backend(wire, context=8192).stream([USER], []))
    OpenAIServer(URL, transport=wire).models()
    assert {headers.get("authorization") for headers in wire.headers} == {shown}


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("http://127.0.0.1:8000", True),
        ("http://localhost:8000", True),
        ("http://[::1]:8000", True),
        ("https://gpu.example", True),
        ("http://gpu.example:8000", False),
        ("http://10.0.0.5:8000", False),
    ],
)
def test_the_key_is_not_sent_unencrypted_to_another_machine(
    url: str, shown: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    wire = Wire({CHAT: (401, b'{"error":"Unauthorized"}')})
    told = failure(wire, url=url)
    assert [SECRET in headers.get("authorization", "") for headers in wire.headers] == [shown]
    assert ("is not sent unencrypted to another machine" in told.what) != shown
    assert "OPENAI_API_KEY" in told.what


@pytest.mark.parametrize("wrong", ["sk-ü12345678", "sk-123\n45678", "sk-\x00123456", 'sk-"12345678', "sk 12345678"])
def test_a_key_that_cannot_be_one_is_not_told(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if "\x00" in wrong:
        wrong = wrong.replace("\x00", "\x01")
    monkeypatch.setenv("THIMBLE_API_KEY", wrong)
    told = failure(ANSWER)
    assert told.what == "the key in THIMBLE_API_KEY has characters that no key has"


KEYS = st.text("abcXYZ019-_./+=~:{}[]&u", min_size=8, max_size=24)


@given(KEYS, st.integers(200, 599), st.sampled_from(["json", "nested", "escaped", "text", "stream", "page"]), st.text())
@example("sk-aaaaaaaa", 401, "json", "x" * 280)
@example("sk-aaaaaaaa", 500, "text", "x" * 295)
@example("sk-aaaaaaaa", 400, "escaped", "")
def test_no_error_ever_holds_the_key(secret: str, status: int, shape: str, before: str) -> None:
    words = f"{before} {secret} {before}"
    spelt = "".join(f"\\u{ord(letter):04x}" for letter in secret)
    body = {
        "json": json.dumps({"error": {"message": words}}),
        "nested": json.dumps({"error": {"message": {"x": [words, secret]}, secret: 1}}),
        "escaped": f'{{"error":{{"message":"Incorrect API key: {spelt}"}}}}',
        "text": words,
        "stream": "data: " + json.dumps({"error": {"message": words, "code": status}}) + "\n\n",
        "page": f"<html>{words}</html>",
    }[shape].encode(errors="replace")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THIMBLE_API_KEY", secret)
        location = {"location": f"http://x/{secret}"}
        wire = Wire({CHAT: lambda _: (status, body, location), MODELS: (status, body, location)})
        told = [failure(wire)]
        for check in checks(OpenAIServer(URL, transport=wire), ""):
            told.append(ModelError(check.found, check.fix))
    for one in told:
        assert secret not in one.what + one.fix
        assert secret not in str(one) + repr(one)


@pytest.mark.parametrize("before", range(270, 300))
def test_no_error_holds_a_part_of_the_key_where_it_is_cut(before: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THIMBLE_API_KEY", SECRET)
    assert SECRET[:5] not in failure((500, b"x" * before + SECRET.encode())).what
