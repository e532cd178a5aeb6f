"""What is used of the `ollama` package beyond what it promises, so that an upgrade that changes it fails here."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from importlib.metadata import version
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ModelError
from agent.messages import Message
from models.ollama import client
from models.ollama.server import OllamaServer
from models.server import ServerOptions
from tests.support.ollama_wire import ANSWER, PULL, Chunks, Wire, model, server

TEXTS = st.text(st.characters())
"""With halves of characters, which JSON can spell."""


def test_the_version_is_the_one_that_was_read() -> None:
    """After an upgrade: read the diff of its `_client.py` and `_types.py`, then change the figure here."""
    assert version("ollama") == "0.6.3"


def test_the_private_parts_are_there() -> None:
    base = inspect.signature(client.BaseClient.__init__).parameters
    assert list(base)[:3] == ["self", "client", "host"]
    request = inspect.signature(client.Client._request).parameters
    assert list(request) == ["self", "cls", "args", "stream", "kwargs"]
    assert request["stream"].default is False
    made = inspect.getsource(client.BaseClient.__init__)
    assert "self._client = client(" in made
    used = set(client.Client._request.__code__.co_names) | set(client.Client._request_raw.__code__.co_names)
    assert used >= {"_client", "request", "json", "raise_for_status"}


def test_our_types_have_only_what_its_types_leave_out() -> None:
    """Where one of these fails, the package has learned a field, and our type may lose it."""
    from ollama._types import ChatRequest, ChatResponse
    from ollama._types import Message as Theirs

    assert set(client.Chat.model_fields) - set(ChatRequest.model_fields) == {"truncate"}
    assert set(client.Line.model_fields) - set(ChatResponse.model_fields) == {"prompt_eval_cached_count"}
    assert set(client.Call.model_fields) - set(Theirs.ToolCall.model_fields) == {"id"}
    assert "tool_call_id" not in Theirs.model_fields
    assert not ChatRequest.model_config.get("extra")


@given(TEXTS, TEXTS, st.dictionaries(TEXTS, st.none() | st.integers() | TEXTS), st.dictionaries(st.text(), st.none()))
def test_a_request_is_sent_as_it_was_made(
    text: str, id_: str, arguments: dict[str, Any], schema: dict[str, Any]
) -> None:
    call = {"id": id_, "function": {"name": "f", "arguments": arguments}}
    body = {
        "model": "m",
        "messages": [
            {"role": "assistant", "content": text, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": id_},
        ],
        "tools": [{"type": "function", "function": {"name": "f", "strict": None, "parameters": schema}}],
        "keep_alive": -1,
        "truncate": False,
        "options": {"num_ctx": 4_096},
    }
    assert json.dumps(client.Chat(**body).model_dump(exclude_unset=True), sort_keys=True) == json.dumps(
        body, sort_keys=True
    )


@given(TEXTS, TEXTS)
def test_a_line_is_read_whatever_its_texts_are(text: str, id_: str) -> None:
    call = {"id": id_, "function": {"name": text, "arguments": {text: text}}}
    body = json.dumps({"message": {"content": text, "thinking": text, "tool_calls": [call]}, "done": True}).encode()
    (line,) = server(Wire(chat=body)).chat("{}", "m")
    assert (line.message.content, line.message.thinking, line.done) == (text, text, True)
    (found,) = line.message.tool_calls or ()
    assert (found.id, found.function.name, found.function.arguments) == (id_, text, {text: text})


@pytest.mark.parametrize("body", [b'{"message":7}', b'{"message":{"tool_calls":7}}', b'{"message":{"tool_calls":[7]}}'])
def test_a_line_that_is_none_is_a_model_error(body: bytes) -> None:
    with pytest.raises(ModelError, match="does not speak Ollama's language"):
        list(server(Wire(chat=body)).chat("{}", "m"))


# ---- our bounds, in the package's client ----


def test_every_request_goes_through_the_package() -> None:
    """It names itself in its requests."""
    agents: list[str] = []

    class Noted(Wire):
        def answer(self, request: httpx.Request) -> httpx.Response:
            agents.append(f"{request.url.path} {request.headers['user-agent'].partition('/')[0]}")
            return super().answer(request)

    behind = Noted(chat=ANSWER, pull=PULL, embed=b'{"embeddings":[[1.0]]}')
    list(model(behind).stream([Message("u", "user", "Hi")], []))
    list(server(behind).pull("m"))
    server(behind).ask("/api/embed", {})
    assert (server(behind).version(), len(server(behind).models())) == ("0.34.1", 2)
    routes = {"chat", "embed", "ps", "pull", "show", "tags", "version"}
    assert set(agents) == {f"/api/{route} ollama-python" for route in routes}


def test_no_key_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OLLAMA_API_KEY", "secret")

    def answer(request: httpx.Request) -> httpx.Response:
        assert "authorization" not in request.headers
        return httpx.Response(200, content=b'{"version":"0.34.1"}')

    assert OllamaServer("", transport=httpx.MockTransport(answer)).version() == "0.34.1"


def test_redirects_are_not_followed() -> None:
    moved = (301, b"", {"location": "http://elsewhere/api/version"})
    with pytest.raises(ModelError, match="sends requests on to http://elsewhere"):
        server(Wire(version=moved)).version()


def test_a_line_without_an_end_is_given_up_on() -> None:
    endless = Chunks([b'{"message":{"content":"', *[b"x" * 1_000_000] * 17])
    with pytest.raises(ModelError, match="without an end"):
        list(server(Wire(chat=endless)).chat("{}", "m"))
    assert endless.closed


def test_the_longest_waits_are_ours() -> None:
    seen: list[dict[str, float]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.extensions["timeout"])
        return httpx.Response(200, content=b'{"version":"0.34.1"}')

    behind = OllamaServer("", ServerOptions(timeout_seconds=7), httpx.MockTransport(answer))
    behind.version()
    list(behind.chat("{}", "m"))
    assert [(each["connect"], each["read"]) for each in seen] == [(5, 7), (5, 7)]


# ---- its import ----


def test_the_package_is_imported_without_its_own_client_and_only_when_a_server_is_asked() -> None:
    """Its `__init__` would fail with each of these, and load every certificate. A whole import still works after it."""
    code = """if True:
    import sys
    from models.ollama.server import OllamaServer
    from models.ollama import OLLAMA, backend, checks, embedder
    assert OllamaServer("127.0.0.1:9").answers() is False
    assert not [name for name in sys.modules if name.startswith(("ollama", "pydantic"))]
    from agent.errors import ModelError
    try:
        OllamaServer("127.0.0.1:9").version()
    except ModelError as error:
        print(error.what)
    assert "ollama" not in sys.modules
    import os
    for name in ("ALL_PROXY", "OLLAMA_HOST", "SSL_CERT_FILE"):
        del os.environ[name]
    import ollama
    assert issubclass(ollama.Client, sys.modules["ollama._client"].BaseClient) and ollama.chat
    """
    odd = {"ALL_PROXY": "socks5://127.0.0.1:9", "OLLAMA_HOST": "http://a:b:c", "SSL_CERT_FILE": "/there/is/none"}
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | odd, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("nothing answers at http://127.0.0.1:9")
