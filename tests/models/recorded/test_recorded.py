"""What was recorded is whole, tells nothing of the machine it was recorded on, and is read by the backend as it is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.support.both_servers import SERVERS, failure
from tests.support.openai_wire import SYSTEM, TOOL, USER
from tests.support.recorded import FOLDER, recorded
from thimble.agent.errors import ModelError
from thimble.agent.protocols import Text, Thinking, Usage
from thimble.models.wire.retry import Busy

FILES = sorted(FOLDER.glob("*/*.http"))
WORDS = "A thimble holds €1 — 2 ml [café-thimbles]."
TOPIC = ("list_articles", '{"topic": "café \\"thimbles\\""}')
OWN_TOPIC = ("list_articles", '{"topic": "bosfisdul"}')
OWN_WORDS = "I will look for an article about bosfisdul."


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}-{file.stem}")
def test_a_file_is_whole_small_and_says_nothing_of_its_machine(file: Path) -> None:
    exchange = recorded(file.parent.name, file.stem)
    assert exchange.body
    assert len(exchange.body) < 40_000
    assert not re.search(rb"/(home|root|tmp|usr|var|work)/|\\b127\\.0\\.0\\.1|localhost", file.read_bytes())
    if "event-stream" in exchange.kind:
        assert exchange.body.endswith(b"\n\ndata: [DONE]\n\n")
    elif "json" in exchange.kind:
        assert json.loads(exchange.body)


@pytest.mark.parametrize(
    ("server", "name", "text", "calls", "usage"),
    [
        *((server, "text", WORDS, [], (prompt, 0, "stop")) for server, prompt in (("vllm", 181), ("llama", 653))),
        *((server, "call", "", [TOPIC], (prompt, cached, "stop"))
          for server, prompt, cached in (("vllm", 181, 128), ("llama", 653, 0))),
        *((server, "two-calls", "I look twice.", [TOPIC, ("read_article", '{"slug": "thimbles"}')], usage)
          for server, usage in (("vllm", (181, 128, "stop")), ("llama", (653, 0, "stop")))),
        *((server, "cut-by-length", "", [("list_articles", '{"topic": "café')], usage)
          for server, usage in (("vllm", (181, 128, "length")), ("llama", (653, 652, "length")))),
        *((server, "own-words-cached", OWN_WORDS, [OWN_TOPIC], (181, cached, "stop"))
          for server, cached in (("vllm", 128), ("llama", 180))),
        ("vllm", "broken-call", "", [("list_articles", '{"topic": }}')], (181, 128, "stop")),
        ("vllm", "no-details", WORDS, [], (47, None, "stop")),
        ("vllm", "reasoning", "A list will do. Here | I look.", [], (47, None, "stop")),
        ("llama", "wrong-model", "I will look for an article about", [], (181, 0, "length")),
    ],
)  # fmt: skip
def test_a_stream_is_read(server: str, name: str, text: str, calls: object, usage: object) -> None:
    deltas = list(SERVERS["openai"].backend(recorded(server, name).body).stream([SYSTEM, USER], [TOOL]))
    said = ("".join(each.text for each in deltas if isinstance(each, kind)).strip() for kind in (Thinking, Text))
    assert " | ".join(filter(None, said)) == text
    assert [(each.name, each.arguments) for each in deltas if hasattr(each, "arguments")] == calls
    assert isinstance(account := deltas[-1], Usage)
    assert (account.prompt_tokens, account.cached_tokens, account.finish) == usage


def test_vllm_leaves_a_broken_call_in_the_text_of_a_whole_reply() -> None:
    deltas = list(SERVERS["openai"].backend(recorded("vllm", "broken-call-whole").body).stream([USER], [TOOL]))
    assert any(isinstance(each, Text) and each.text.startswith("<tool_call>") for each in deltas)


@pytest.mark.parametrize(
    ("server", "name", "told"),
    [
        ("vllm", "too-long", "longer than the model's context"),
        ("vllm", "too-long-whole", "longer than the model's context"),
        ("vllm", "reply-too-long", "longer than the model's context"),
        ("vllm", "wrong-model", "has no model 'tiny'"),
        ("vllm", "wrong-path", "has no /v1/chat/completions: Not Found"),
        ("vllm", "wrong-key", "requires a key (401)"),
        ("vllm", "no-tool-parser", "tiny cannot call tools"),
        ("llama", "too-long", "longer than the model's context"),
        ("llama", "too-long-whole", "longer than the model's context"),
        ("llama", "wrong-path", "has no /v1/chat/completions"),
        ("llama", "wrong-key", "requires a key (401)"),
        ("llama", "loading", "the server is still loading the model"),
    ],
)
def test_a_refusal_is_understood(server: str, name: str, told: str) -> None:
    exchange = recorded(server, name)
    error: ModelError = failure("openai", (exchange.status, exchange.body))
    assert told in error.what
    assert isinstance(error, Busy) == (name == "loading")
