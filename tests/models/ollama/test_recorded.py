"""Each exchange with a real Ollama, replayed through the backend over httpx: it reads what the server said."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.both_servers import said
from tests.support.family import family
from tests.support.ollama_recorded import NAMES, again, exchange
from tests.support.openai_wire import SYSTEM, TOOL, USER
from thimble.agent.errors import ModelError
from thimble.agent.messages import ToolCall
from thimble.agent.protocols import Delta, Text, Thinking, Usage
from thimble.models import checks
from thimble.models.ollama.backend import Ollama
from thimble.models.ollama.embedder import OllamaEmbedder
from thimble.models.ollama.server import OllamaServer
from thimble.models.openai.backend import backend
from thimble.models.openai.server import OpenAIServer
from thimble.models.server import ServerOptions, ToolsRefused
from thimble.models.wire.retry import Busy

GUARD = "chat-stopped-by-the-servers-repetition-guard"
CHATS = [name for name in NAMES if exchange(name).path == "/api/chat"]
REPLIES = [name for name in CHATS if exchange(name).status == 200 and exchange(name).done]
REFUSED = [name for name in CHATS if exchange(name).status != 200]
RENDERED = ["chat-render-only", "chat-render-only-tools"]
MODELS = ("tiny", "smol", "pirate", "thinker")
PACKETS = st.lists(st.integers(1, 400), max_size=40)


def cut(raw: bytes, sizes: list[int]) -> list[bytes]:
    """The bytes in packets of these sizes, the rest in one."""
    packets = []
    for size in sizes:
        packets, raw = [*packets, raw[:size]], raw[size:]
    return [packet for packet in [*packets, raw] if packet]


def server(*names: str, packets: Callable[[bytes], list[bytes]] = lambda raw: [raw], **options: Any) -> OllamaServer:
    return OllamaServer("", ServerOptions(**options), again(*names, packets=packets), sleep=lambda _: None)


def heard(name: str, packets: Callable[[bytes], list[bytes]] = lambda raw: [raw]) -> tuple[list[Delta], Any]:
    """What the backend makes of a recorded reply, and the error that ends it, if one does."""
    asked = exchange(name).asked if name not in ("error-not-json", "error-empty-body") else {}
    model, deltas = asked.get("model", "smol"), []
    facts = [] if model in MODELS else ["show-smol"]
    backend = Ollama(
        model, server(name, *facts, packets=packets, stream=asked.get("stream", True)), room=asked.get("room", 4_096)
    )
    try:
        for delta in backend.stream([SYSTEM, USER], [TOOL] if asked.get("tools") else []):
            deltas.append(delta)
    except ModelError as caught:
        return deltas, caught
    return deltas, None


def written(name: str, key: str) -> str:
    """The whole text (content, thinking) of a recorded reply."""
    return "".join(line.get("message", {}).get(key, "") for line in exchange(name).lines)


# ---- replies ----


@pytest.mark.parametrize("name", family(REPLIES))
@given(PACKETS)
def test_a_reply_is_read_whole_however_it_arrives(name: str, sizes: list[int]) -> None:
    deltas, error = heard(name, lambda raw: cut(raw, sizes))
    done = exchange(name).done
    assert error is None
    assert (said(deltas), said(deltas, Thinking)) == (written(name, "content"), written(name, "thinking"))
    calls = [call for line in exchange(name).lines for call in line["message"].get("tool_calls", ())]
    assert [(each.id, each.name, json.loads(each.arguments)) for each in deltas if isinstance(each, ToolCall)] == [
        (call["id"], call["function"]["name"], call["function"]["arguments"]) for call in calls
    ]
    usage = deltas[-1]
    assert isinstance(usage, Usage)
    assert (usage.prompt_tokens, usage.output_tokens) == (done.get("prompt_eval_count"), done.get("eval_count"))
    assert usage.cached_tokens is None, "this version does not tell"
    assert usage.finish == done["done_reason"]
    for seconds, key in (
        (usage.load_seconds, "load_duration"),
        (usage.prefill_seconds, "prompt_eval_duration"),
        (usage.decode_seconds, "eval_duration"),
    ):
        assert seconds == (done[key] / 1e9 if key in done else None)


# ---- replies that break off ----


@pytest.mark.parametrize(
    ("name", "what"),
    family([("chat-server-killed", "stopped in the middle of a reply"), ("chat-runner-killed", "aborted its reply")]),
)
@given(PACKETS)
def test_a_reply_that_breaks_off_is_told_after_what_came(name: str, what: str, sizes: list[int]) -> None:
    deltas, error = heard(name, lambda raw: cut(raw, sizes))
    assert said(deltas) == written(name, "content")
    assert what in error.what
    assert not isinstance(error, Busy), "it has begun, so it is not asked again"


# ---- refusals ----


@pytest.mark.parametrize(
    ("name", "kind", "what"),
    [
        ("error-model-missing", ModelError, "'absent' is not installed"),
        ("error-no-tools", ToolsRefused, "smol cannot call tools"),
        ("error-no-thinking", ModelError, "does not take --think for smol"),
        ("error-think-level", ModelError, 'invalid think value: "huge"'),
        ("error-busy", Busy, "the server is busy"),
        ("error-too-long-truncate-false", ModelError, "3,010 tokens"),
        ("error-too-long-truncate-false", ModelError, "2,048"),
        ("error-too-long-shift-false", ModelError, "longer than"),
        ("error-bad-option", ModelError, "must be of type integer"),
        ("error-bad-keep-alive", ModelError, 'invalid duration "soon"'),
        ("error-bad-arguments", ModelError, "can't find closing '}'"),
        ("error-no-model", ModelError, "model is required"),
        ("error-not-json", ModelError, "unexpected EOF"),
        ("error-empty-body", ModelError, "missing request body"),
    ],
)
def test_a_refusal_is_told_in_our_words(name: str, kind: type[ModelError], what: str) -> None:
    deltas, error = heard(name)
    assert not [delta for delta in deltas if isinstance(delta, Text | Thinking)]
    assert isinstance(error, kind)
    assert what in error.what
    assert error.fix
    assert "\n" not in error.what + error.fix


def test_a_model_without_embeddings() -> None:
    with pytest.raises(ModelError, match="smol makes no embeddings"):
        OllamaEmbedder(server("generate-embed-missing"), "smol").embed(["hi"])


@pytest.mark.parametrize("name", RENDERED)
def test_the_prompt_as_the_model_reads_it(name: str) -> None:
    recorded = exchange(name)
    backend = Ollama(recorded.asked["model"], server(name), room=4_096)
    rendered = backend.rendered([SYSTEM, USER], [TOOL] if "tools" in recorded.asked else [])
    assert rendered == recorded.lines[0]["_debug_info"]["rendered_template"]


# ---- what the server tells about itself and its models ----


def test_installed_and_loaded_models_are_listed() -> None:
    assert server().version() == "0.33.0-rc2"
    assert server().models() == [f"{name}:latest" for name in ("pirate", "smol", "thinker", "tiny")]
    assert server().digest("smol").startswith("fd5f44c0b5af")
    assert [server().loaded("smol"), server("ps-loaded").loaded("smol")] == [None, 4_096]
    assert server("ps-loaded").loaded("tiny") is None


def test_two_names_of_one_file_are_loaded_together() -> None:
    """`pirate` is `smol` with other words: the server lists `smol` alone, and answers as `pirate` without a load."""
    assert [server("ps-loaded").loaded(name) for name in ("pirate", "thinker")] == [4_096, 4_096]


@pytest.mark.parametrize(
    ("model", "abilities", "examples"),
    [
        ("tiny", {"completion", "tools"}, 0),
        ("smol", {"completion"}, 0),
        ("pirate", {"completion", "tools"}, 2),
        ("thinker", {"completion", "thinking"}, 0),
    ],
)
def test_the_abilities_of_a_model_are_read(model: str, abilities: set[str], examples: int) -> None:
    info = server().info(model)
    assert (info.abilities, info.context, info.examples) == (abilities, 8_192, examples)
    assert server("show-verbose-tiny").info("tiny") == server().info("tiny")


def test_a_model_or_a_path_that_is_not_there() -> None:
    with pytest.raises(ModelError, match="'absent' is not installed"):
        server("show-missing").info("absent")
    with pytest.raises(ModelError, match="no Ollama at http:"):
        server("not-found").ask(exchange("not-found").path)


# ---- what is compatible with OpenAI ----


def test_the_compatible_routes_are_read_too() -> None:
    host = OpenAIServer("", ServerOptions(), again("v1-models", "v1-chat"))
    assert host.models() == [f"{name}:latest" for name in ("tiny", "pirate", "smol", "thinker")]
    deltas = list(backend(host, "smol:latest", 4_096).stream([SYSTEM, USER], []))
    assert said(deltas) == written("chat-first", "content")
    usage = deltas[-1]
    assert isinstance(usage, Usage)
    assert (usage.prompt_tokens, usage.output_tokens, usage.finish) == (23, 7, "stop")


def test_the_doctor_has_an_ollama_load_no_model_through_v1() -> None:
    asked: list[str] = []

    class Noting(httpx.BaseTransport):
        def handle_request(self, request: httpx.Request) -> httpx.Response:
            asked.append(request.url.path)
            return again("v1-models", "v1-chat").handle_request(request)

    _, last, _ = checks(OpenAIServer("", ServerOptions(), Noting()), "smol:latest", 4_000)
    assert set(asked) == {"/v1/models", "/version", "/api/version"}
    assert last.fix == "--backend ollama"
