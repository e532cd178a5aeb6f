"""The key: where it comes from and goes to; and it is taken out of whatever a server sends back."""

from __future__ import annotations

import json
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tests.support.both_servers import said
from tests.support.openai_wire import ANSWER, CHAT, DONE, MODELS, URL, USER, Wire, backend
from thimble.agent.errors import ModelError
from thimble.agent.protocols import Thinking
from thimble.models import checks
from thimble.models.openai.server import OpenAIServer
from thimble.models.server import ServerOptions
from thimble.models.wire.api_key import HIDDEN_KEY, MIN_HIDDEN_KEY, VARIABLES, hide_key

KEY = "sk-abasabasaba"
PIECES = st.lists(
    st.sampled_from([KEY, KEY[:5], KEY[:9], KEY[5:], KEY[9:], "sk-", "s", "k", "[key]", " ", "said"]), max_size=12
).map("".join)


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Without a key."""
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    return monkeypatch


def failure(wire: Wire, url: str = URL) -> ModelError:
    with pytest.raises(ModelError) as caught:
        list(backend(wire, url=url).stream([USER], []))
    return caught.value


# ---- where it comes from and goes to ----


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
def test_the_key_comes_from_the_environment(
    variables: dict[str, str], shown: str | None, environment: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        environment.setenv(name, value)
    wire = Wire({CHAT: ANSWER})
    list(backend(wire, context=8192).stream([USER], []))
    OpenAIServer(URL, transport=wire).models()
    assert {headers.get("authorization") for headers in wire.headers} == {shown}


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        *((f"http://{host}:8000", True) for host in ("127.0.0.1", "localhost", "[::1]")),
        ("https://gpu.example", True),
        ("http://gpu.example:8000", False),
        ("http://10.0.0.5:8000", False),
    ],
)
def test_the_key_is_not_sent_unencrypted_to_another_machine(
    url: str, shown: bool, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv("OPENAI_API_KEY", KEY)
    wire = Wire({CHAT: (401, b'{"error":"Unauthorized"}')})
    told = failure(wire, url)
    assert [KEY in headers.get("authorization", "") for headers in wire.headers] == [shown]
    assert ("is not sent unencrypted to another machine" in told.what) != shown
    assert "OPENAI_API_KEY" in told.what


def test_a_server_that_gets_no_key_is_told_how_to_get_one(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("OPENAI_API_KEY", KEY)
    wire = Wire({MODELS: (401, b'{"error":"Unauthorized"}')})
    server = OpenAIServer(URL, ServerOptions(sends_key=False), transport=wire)
    with pytest.raises(ModelError) as caught:
        server.models()
    assert "authorization" not in wire.headers[0]
    assert "you have not named this address" in caught.value.what
    assert f"--base-url {URL}" in caught.value.fix


@pytest.mark.parametrize("wrong", ["sk-ü12345678", "sk-123\n45678", "sk-\x01123456", 'sk-"12345678', "sk 12345678"])
def test_a_malformed_key_is_not_told(wrong: str, environment: pytest.MonkeyPatch) -> None:
    environment.setenv("THIMBLE_API_KEY", wrong)
    assert failure(Wire({CHAT: ANSWER})).what == "the key in THIMBLE_API_KEY has characters that a key cannot have"


# ---- a server that sends it back ----

NO_RESET = settings(suppress_health_check=[HealthCheck.function_scoped_fixture])


@NO_RESET
@given(PIECES, PIECES, st.booleans(), st.booleans())
@example(KEY, KEY, True, True)
def test_no_line_of_a_reply_holds_the_key(
    environment: pytest.MonkeyPatch, text: str, thought: str, escaped: bool, whole: bool
) -> None:
    environment.setenv("OPENAI_API_KEY", KEY)
    message = {"content": text, "reasoning": thought, "tool_calls": [{"id": KEY, "function": {"name": KEY}}]}
    choice = {"finish_reason": "stop", "message" if whole else "delta": message}
    line = json.dumps({"choices": [choice]})
    if escaped:
        line = line.replace(KEY, "".join(f"\\u{ord(letter):04x}" for letter in KEY))
    stream = b"data: " + line.encode() + b"\n\n" + DONE
    body = (200, line.encode(), {"content-type": "application/json"}) if whole else stream
    deltas = list(backend(Wire({CHAT: body})).stream([USER], []))
    assert KEY not in str(deltas)
    assert said(deltas) == text.replace(KEY, HIDDEN_KEY)
    assert said(deltas, Thinking) == thought.replace(KEY, HIDDEN_KEY)


@NO_RESET
@given(
    st.text("abcXYZ019-_./+=~:{}[]&u", min_size=8, max_size=24),
    st.integers(200, 599),
    st.sampled_from(["json", "nested", "escaped", "text", "stream", "page"]),
    st.text(),
)
@example("sk-aaaaaaaa", 401, "json", "x" * 280)
@example("sk-aaaaaaaa", 500, "text", "x" * 295)
@example("sk-aaaaaaaa", 400, "escaped", "")
def test_no_error_holds_the_key(
    environment: pytest.MonkeyPatch, secret: str, status: int, shape: str, before: str
) -> None:
    environment.setenv("THIMBLE_API_KEY", secret)
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
    location = {"location": f"http://x/{secret}"}
    wire = Wire({CHAT: lambda _: (status, body, location), MODELS: (status, body, location)})
    told = [failure(wire)]
    with suppress(ModelError):
        told += [ModelError(*check) for check in checks(OpenAIServer(URL, transport=wire), "", 4_000)]
    assert not [one for one in told if secret in one.what + one.fix + str(one) + repr(one)]


def test_no_error_holds_a_part_of_the_key_where_it_is_cut(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("THIMBLE_API_KEY", KEY)
    for before in range(270, 300):
        assert KEY[:5] not in failure(Wire({CHAT: (500, b"x" * before + KEY.encode())})).what


def test_a_word_that_stands_for_no_key_stays(environment: pytest.MonkeyPatch) -> None:
    for word in ("EMPTY", "none", "x" * (MIN_HIDDEN_KEY - 1)):
        environment.setenv("OPENAI_API_KEY", word)
        assert hide_key(f"it is {word}") == f"it is {word}"
