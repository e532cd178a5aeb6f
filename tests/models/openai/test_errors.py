from __future__ import annotations

import json
from typing import Any

import httpx
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support import both_servers
from tests.support.openai_wire import ANSWER, CHAT, MODELS, SYSTEM, TOOL, URL, USER, Reply, Wire, backend
from thimble.agent.errors import ModelError
from thimble.agent.protocols import Sent, Text, Waiting
from thimble.models import checks
from thimble.models.openai.errors import refusal
from thimble.models.openai.server import OpenAIServer
from thimble.models.wire import api_key
from thimble.models.wire.retry import Busy

SECRET = "sk-thimble-0123456789"


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in api_key.VARIABLES:
        monkeypatch.delenv(name, raising=False)


def failure(body: Reply | Wire, **settings: Any) -> ModelError:
    if not settings:
        return both_servers.failure("openai", body)
    with pytest.raises(ModelError) as caught:
        list(backend(body, **settings).stream([SYSTEM, USER], [TOOL]))
    return caught.value


def error(words: str, **more: object) -> bytes:
    return json.dumps({"error": {"message": words, **more}}).encode()


@given(st.integers(300, 599), st.binary(max_size=60) | st.text(max_size=60).map(str.encode))
def test_any_refusal_can_be_told(status: int, body: bytes) -> None:
    told = refusal(status, body.decode(errors="replace"), "tiny", URL)
    assert "\n" not in told.what + told.fix
    assert told.fix


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
