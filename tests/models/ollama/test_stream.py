"""The lines of a reply, and the bounds of every answer of an Ollama."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.ollama_wire import Chunks, Wire, model, server
from thimble.agent.errors import ModelError
from thimble.agent.messages import Message
from thimble.models.ollama.server import OllamaServer
from thimble.models.server import ServerOptions

TEXTS = st.text(st.characters())
"""With halves of characters, which JSON can spell."""


def lines(wire: Wire) -> Iterator[dict[str, Any]]:
    """The lines of a reply."""
    behind = server(wire)
    return behind.stream("/api/chat", {}, behind.allowance(), "m")


@given(TEXTS, TEXTS)
def test_a_line_is_read_whatever_its_texts_are(text: str, id_: str) -> None:
    call = {"id": id_, "function": {"name": text, "arguments": {text: text}}}
    body = json.dumps({"message": {"content": text, "thinking": text, "tool_calls": [call]}, "done": True}).encode()
    (line,) = lines(Wire(chat=body))
    assert line["message"] == {"content": text, "thinking": text, "tool_calls": [call]}


ODD = [b'{"message":7}', b'{"message":{"tool_calls":7}}', b'{"message":{"tool_calls":[7]}}', b"[]", b"7"]


@pytest.mark.parametrize("body", ODD)
def test_a_line_that_is_none_is_a_model_error(body: bytes) -> None:
    with pytest.raises(ModelError, match="does not speak Ollama's language"):
        list(model(Wire(chat=body)).stream([Message("u", "user", "Hi")], []))


# ---- our bounds, of every answer ----


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
        list(lines(Wire(chat=endless)))
    assert endless.closed


def test_the_longest_waits_are_ours() -> None:
    seen: list[dict[str, float]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.extensions["timeout"])
        return httpx.Response(200, content=b'{"version":"0.34.1"}')

    behind = OllamaServer("", ServerOptions(timeout_seconds=7), httpx.MockTransport(answer))
    behind.version()
    list(behind.stream("/api/chat", {}, behind.allowance(behind.options.reply), "m"))
    assert [(each["connect"], each["read"]) for each in seen] == [(5, 7), (5, 7)]
