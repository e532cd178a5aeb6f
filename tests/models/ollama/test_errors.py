from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.both_servers import failure
from tests.support.certificate import self_signed
from tests.support.ollama_http import served
from tests.support.ollama_wire import Wire, server
from thimble.agent.errors import ModelError
from thimble.agent.messages import Message
from thimble.models.ollama.server import OllamaServer
from thimble.models.server import TooLong

USER = Message("u", "user", "What holds 2 ml?")
TOOL = {"type": "function", "function": {"name": "list_articles", "description": "List.", "parameters": {}}}


# ---- said plainly ----


@pytest.mark.parametrize("status", [200, 400, 500])
def test_a_prompt_that_is_too_long_is_told_with_its_tokens(status: int) -> None:
    """They come as JSON in a text, from the model's own process."""
    words = "request (6010 tokens) exceeds the available context size (4096 tokens), try increasing it"
    inner = {"code": 400, "message": words, "type": "exceed_context_size_error", "n_prompt_tokens": 6010, "n_ctx": 4096}
    error = failure("ollama", (status, json.dumps({"error": json.dumps({"error": inner})}).encode()))
    assert isinstance(error, TooLong)
    assert error.what == "the prompt has 6,010 tokens, the model is loaded with 4,096"
    assert error.fix.startswith("lower the budget: /budget 2048, --budget 2048")


def test_a_server_that_misses_a_model_whatever_it_is_asked_is_asked_no_more() -> None:
    lost = (404, b'{"error":"model \'x\' not found"}')
    error = failure("ollama", Wire(chat=lost, tags=lost))
    assert (error.what, error.fix) == ("the model 'qwen2.5:7b' is not installed", "ollama pull qwen2.5:7b")


# ---- over a real connection ----


@pytest.mark.parametrize("status", [401, 403])
def test_a_key_that_something_before_the_server_wants_is_no_matter_of_the_model(status: int) -> None:
    with pytest.raises(ModelError, match=f"requires a key, and thimble sends none \\({status}\\)") as caught:
        server(Wire(tags=(status, b'{"error":"unauthorized"}'))).models()
    assert "ssh -L" in caught.value.fix


def test_plain_http_is_no_tls_and_tls_no_plain_http(tmp_path: Path) -> None:
    with served() as (_, url), pytest.raises(ModelError, match="no secure connection") as caught:
        OllamaServer(url.replace("http:", "https:")).version()
    assert "http://" in caught.value.fix
    with served(certificate=self_signed(tmp_path)) as (_, url), pytest.raises(ModelError) as caught:
        OllamaServer(url.replace("https:", "http:")).version()
    assert caught.value.fix
