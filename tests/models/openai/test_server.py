from __future__ import annotations

import json
from typing import Any

import pytest

from tests.support.openai_wire import (
    ANSWER,
    CALLS,
    CHAT,
    LLAMA_MODELS,
    MODELS,
    PAGE,
    SYSTEM,
    TOKENIZE,
    TOOL,
    URL,
    USER,
    VLLM_MODELS,
    Wire,
    backend,
)
from tests.support.scripted_server import front, says
from thimble.agent.errors import ModelError, UsageError
from thimble.agent.messages import Message, ToolCall
from thimble.agent.protocols import Text
from thimble.models import SERVERS, backend_on, checks, find_server, make_backend, server_at
from thimble.models.openai import backend as module
from thimble.models.openai.server import OpenAIServer
from thimble.models.server import Check, ServedBackend
from thimble.models.wire import api_key


@pytest.fixture(autouse=True)
def _no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in api_key.VARIABLES:
        monkeypatch.delenv(name, raising=False)


def server(routes: dict[str, Any] | None = None, name: Any = "openai") -> OpenAIServer:
    return OpenAIServer(URL, transport=Wire(routes), name=name)


# ---- where it is ----


@pytest.mark.parametrize(
    ("given", "name", "url"),
    [
        ("", "vllm", "http://127.0.0.1:8000"),
        ("", "openai", "http://127.0.0.1:8080"),
        ("http://127.0.0.1:1234/v1", "openai", "http://127.0.0.1:1234"),
        ("http://127.0.0.1:1234/v1/", "openai", "http://127.0.0.1:1234"),
        ("gpu", "vllm", "http://gpu:8000"),
        (":9000", "vllm", "http://127.0.0.1:9000"),
        ("https://gpu.example/team/v1", "vllm", "https://gpu.example:443/team"),
        ("0.0.0.0", "vllm", "http://127.0.0.1:8000"),
    ],
)
def test_an_address_may_end_in_v1_or_not(given: str, name: str, url: str) -> None:
    assert server_at(name, given).url == url


def test_an_address_that_is_none_says_so() -> None:
    with pytest.raises(UsageError, match="is not an address"):
        server_at("vllm", "http://user@gpu")


def test_requests_go_behind_the_path_of_the_address() -> None:
    wire = Wire({"/team" + CHAT: ANSWER, "/team" + MODELS: VLLM_MODELS})
    found = OpenAIServer("http://127.0.0.1:8000/team/v1", transport=wire)
    assert found.models() == ["tiny"]
    list(backend_on(found, "tiny", 100).stream([USER], []))
    assert wire.asked("/team" + CHAT) == 1


# ---- whether it is there, and what it is ----


@pytest.mark.parametrize(
    ("status", "body", "there", "name"),
    [
        (200, VLLM_MODELS, True, "vllm"),
        (200, LLAMA_MODELS, True, "openai"),
        (200, b'{"object":"list","data":[]}', True, "vllm"),
        (401, b'{"error":"Unauthorized"}', True, "vllm"),
        (403, b"Forbidden", True, "vllm"),
        (200, PAGE, False, "vllm"),
        (200, b'{"models":[]}', False, "vllm"),
        (200, b"[" * 50_000, False, "vllm"),
        (404, b'{"detail":"Not Found"}', False, "vllm"),
        (500, b"", False, "vllm"),
    ],
)
def test_a_server_answers_if_it_lists_models_or_wants_a_key(status: int, body: bytes, there: bool, name: str) -> None:
    with front(paths={MODELS: says(f"{status} Status", body)}) as there_:
        found = server_at("vllm", there_.url)
        assert found.answers(5) is there
        assert found.name == name


def test_a_web_page_with_a_password_is_not_a_model_server(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for body, there in ((PAGE, False), (b'{"error":"Unauthorized"}', True)):
        with front(paths={MODELS: says("403 Status", body)}) as found:
            ports = {"vllm": 1, "openai": int(found.url.rpartition(":")[2])}
            monkeypatch.setattr("thimble.models.openai.server.PORTS", ports)
            assert server_at("openai").answers(5) is there


@pytest.mark.parametrize(("models", "name"), [(VLLM_MODELS, "vllm"), (LLAMA_MODELS, "openai")])
def test_auto_takes_whichever_answers_at_an_address_and_names_it_right(models: bytes, name: str) -> None:
    with front(paths={MODELS: says("200 OK", models)}) as listening:
        found = find_server(listening.url, seconds=5)
        assert found
        assert (found.name, found.url) == (name, listening.url)
        assert backend_on(found, found.choose(), 100).name == name


def test_nothing_answers_where_nothing_listens() -> None:
    assert find_server("http://127.0.0.1:9") is None
    assert list(SERVERS) == ["ollama", "vllm", "openai", "gguf"]


# ---- its models ----


def test_the_model_that_is_wanted_or_the_first_that_can_chat() -> None:
    listed = json.dumps(
        {"data": [{"id": name} for name in ("nomic-embed-text", "bge-reranker", "qwen", "phi")]}
    ).encode()
    assert server({MODELS: listed}).choose() == "qwen"
    assert server({MODELS: listed}).choose("phi") == "phi"
    assert server({MODELS: LLAMA_MODELS}).choose("small") == "small"
    with pytest.raises(ModelError, match="has no model 'gpt'") as caught:
        server({MODELS: listed}).choose("gpt")
    assert "nomic-embed-text, bge-reranker, qwen, phi" in caught.value.fix
    with pytest.raises(ModelError, match="no model to talk to"):
        server({MODELS: b'{"data":[]}'}).choose()


@pytest.mark.parametrize("body", [b"[]", b'[{"id":7},8,{"id":"x"}]', b'{"data":[{"id":"x"},{},null]}'])
def test_a_list_in_another_shape_is_read_as_far_as_it_goes(body: bytes) -> None:
    assert server({MODELS: body}).models() in ([], ["x"])


@pytest.mark.parametrize("body", [PAGE, b"{}", b"7", b'{"data":7}', b""])
def test_an_answer_that_is_not_a_list_of_models_is_an_error(body: bytes) -> None:
    with pytest.raises(ModelError, match="does not speak"):
        server({MODELS: body}).models()


@pytest.mark.parametrize(
    ("entry", "context"),
    [
        ({"max_model_len": 8192}, 8192),
        ({"context_length": 131072}, 131072),
        ({"meta": {"n_ctx": 4096, "n_ctx_train": 8192}}, 4096),
        ({"meta": {"n_ctx_train": 8192}}, None),
        ({"max_model_len": -1, "meta": 7}, None),
        ({"max_model_len": "many"}, None),
    ],
)
def test_the_context_of_a_model_is_read(entry: dict[str, Any], context: int | None) -> None:
    found = server({MODELS: json.dumps({"data": [{"id": "x", **entry}]}).encode()})
    model = module.backend(found, found.choose(), 14_144)
    assert isinstance(model, ServedBackend)
    assert (model.context, model.room) == (context, context or 14_144)


def test_a_server_does_not_grow_and_says_when_it_is_too_small() -> None:
    small = backend(Wire(), "vllm", context=8192, needed=14_144)
    assert small.with_room(40_000) is small
    assert "holds 8,192 tokens" in small.check()
    assert "--max-model-len 35904" in small.check()
    assert "/budget 6144" in small.check()
    assert backend(Wire(), context=16_384, needed=14_144).check() == ""
    assert backend(Wire(), needed=14_144).check() == ""


# ---- the doctor ----


def test_the_doctor_finds_a_healthy_vllm() -> None:
    count = b'{"count":7,"max_model_len":8192,"tokens":[]}'
    routes = {CHAT: ANSWER, TOKENIZE: count, "/version": b'{"version":"0.32.0"}'}
    assert [*checks(server(routes), "", 4_000)] == [
        Check(f"0.32.0 at {server(routes).url}"),
        Check("tiny calls tools"),
        Check("room for 8,192 tokens of prompt and reply"),
    ]


def test_the_doctor_says_what_to_type() -> None:
    def refuses(body: Any) -> Any:
        refused = b'{"error":{"message":"tools param requires --jinja flag","code":500}}'
        return (500, refused) if "tools" in body else ANSWER

    *_, calls, room = checks(server({CHAT: refuses}), "", 8_000)
    assert calls.found == "tiny calls by schema"
    assert "--jinja" in calls.fix
    assert room.fix == "--budget 6144"
    plain = ANSWER.replace(b'"prompt_tokens_details"', b'"x"')
    _, cache, *_ = checks(server({CHAT: plain}), "", 8_000)
    assert "--enable-prefix-caching --enable-prompt-tokens-details" in cache.fix


@pytest.mark.parametrize(
    ("routes", "model"),
    [
        ({MODELS: (401, b"{}")}, ""),
        ({MODELS: PAGE}, ""),
        ({}, "gpt"),
        ({CHAT: (500, b"")}, ""),
        ({CHAT: b'{"detail":"Not Found"}'}, ""),
    ],
)
def test_the_doctor_raises_what_a_session_would(routes: dict[str, Any], model: str) -> None:
    with pytest.raises(ModelError) as caught:
        list(checks(server(routes), model, 4_000))
    assert caught.value.fix


# ---- real connections ----


def test_a_whole_conversation_over_a_real_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "HTTPS_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")  # a proxy before loopback would refuse
    replies = (says("200 OK", body, "content-type: text/event-stream") for body in (CALLS, ANSWER))
    with front(*replies, paths={MODELS: says("200 OK", VLLM_MODELS)}) as server:
        model = make_backend("vllm", base_url=server.url.removeprefix("http://") + "/v1")
        assert isinstance(model, ServedBackend)
        history = [SYSTEM, USER]
        calls = tuple(d for d in model.stream(history, [TOOL]) if isinstance(d, ToolCall))
        history += [Message("a", "assistant", calls=calls)]
        history += [Message(call.id, "tool", "16", call_id=call.id, name=call.name) for call in calls]
        assert Text("A thimble") in list(model.stream(history, [TOOL]))
        assert (model.name, model.model, model.room) == ("vllm", "tiny", 8192)
