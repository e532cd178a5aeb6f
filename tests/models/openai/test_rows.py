"""One test for each trap that clients of vLLM fall into."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent.errors import ModelError
from agent.messages import ToolCall
from agent.protocols import Delta, Sent, Thinking, Usage
from models import backend_on
from models.openai.metrics import PrefixCache, read
from models.openai.server import OpenAIServer
from models.server import ToolsRefused
from tests.support.openai_wire import (
    ANSWER,
    CHAT,
    DONE,
    METRICS,
    SYSTEM,
    TOKENIZE,
    TOOL,
    URL,
    USER,
    Wire,
    backend,
    chunk,
)
from tests.support.recorded import recorded

ACCOUNT = ',"usage":{"prompt_tokens":200,"total_tokens":211,"completion_tokens":11'
SILENT = chunk('"content":"A"', '"stop"') + chunk(choices=False, rest=ACCOUNT + "}") + DONE


def stream(wire: Wire, **settings: Any) -> list[Delta]:
    sent, *deltas = backend(wire, "vllm", **settings).stream([SYSTEM, USER], [TOOL])
    assert isinstance(sent, Sent)
    return deltas


def figures(queries: float, hits: float, name: str = "vllm:prefix_cache_{}_total") -> bytes:
    labels = '{engine="0",model_name="tiny"}'
    return (
        f"# HELP x Tokens.\n# TYPE x counter\n{name.format('queries')}{labels} {queries}\n"
        f"vllm:prefix_cache_queries_created{labels} 1.795e+09\n{name.format('hits')}{labels} {hits}\n"
    ).encode()


def test_row_auto_tool_choice_needs_flags_and_says_so() -> None:
    words = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
    with pytest.raises(ToolsRefused) as caught:
        stream(Wire({CHAT: (400, json.dumps({"error": {"message": words, "code": 400}}).encode())}))
    assert "--enable-auto-tool-choice --tool-call-parser" in caught.value.fix


def test_row_tools_are_left_out_rather_than_forbidden() -> None:
    wire = Wire({CHAT: ANSWER})
    list(backend(wire, "vllm").stream([SYSTEM, USER], []))
    assert not {"tools", "tool_choice"} & set(wire.sent())


TOPIC = ("list_articles", {"topic": 'café "thimbles"'})


@pytest.mark.parametrize(
    ("name", "called", "usage"),
    [
        ("two-calls", [TOPIC, ("read_article", {"slug": "thimbles"})], Usage(181, 128, 76, finish="stop")),
        ("call-whole", [TOPIC], Usage(181, 128, 36, finish="stop")),
    ],
)
def test_row_streamed_arguments_are_fragments_by_index_and_may_come_whole(
    name: str, called: list[Any], usage: Usage
) -> None:
    deltas = stream(Wire({CHAT: recorded("vllm", name).body}), stream=not name.endswith("whole"))
    calls = [delta for delta in deltas if isinstance(delta, ToolCall)]
    assert [(call.name, json.loads(call.arguments)) for call in calls] == called
    assert all(call.id.startswith("chatcmpl-tool-") for call in calls)
    assert deltas[-1] == usage


def test_row_a_call_that_the_limit_cut_is_no_call() -> None:
    cut = stream(Wire({CHAT: recorded("vllm", "cut-by-length").body}))
    assert cut[-1] == Usage(181, 128, 22, finish="length")


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content"])
def test_row_reasoning_comes_in_either_field_and_once(field: str) -> None:
    body = chunk(f'"{field}":"Hm."') + chunk('"reasoning":"So.","reasoning_content":"So."') + chunk("", '"stop"') + DONE
    assert stream(Wire({CHAT: body}))[:-1] == [Thinking("Hm."), Thinking("So.")]


def test_row_the_account_is_asked_for_and_comes_without_choices() -> None:
    wire = Wire({CHAT: ANSWER})
    assert stream(wire)[-1] == Usage(812, 768, 11, finish="stop")
    assert wire.sent()["stream_options"] == {"include_usage": True}


NO_DETAILS = [
    SILENT,
    SILENT.replace(b'"completion_tokens":11', b'"completion_tokens":11,"prompt_tokens_details":null'),
    SILENT.replace(b'"completion_tokens":11', b'"completion_tokens":11,"prompt_tokens_details":{"cached_tokens":null}'),
]


@pytest.mark.parametrize("body", NO_DETAILS)
@pytest.mark.parametrize(
    "name",
    [
        "vllm:prefix_cache_{}_total",
        "vllm:prefix_cache_{}",
        "vllm:gpu_prefix_cache_{}",
        "vllm:gpu_prefix_cache_{}_total",
    ],
)
def test_row_cached_tokens_that_are_not_reported_are_in_the_metrics(body: bytes, name: str) -> None:
    wire = Wire({CHAT: body, METRICS: [figures(1000, 600, name), figures(1200, 728, name)]})
    assert stream(wire)[-1] == Usage(200, 128, 11, finish="stop")


@pytest.mark.parametrize(
    "after",
    [figures(1500, 728), figures(1200, 1000), figures(1000, 600), figures(1200, 500), (404, b""), b"{}", figures(0, 0)],
)
def test_row_metrics_that_others_had_a_hand_in_are_not_believed(after: Any) -> None:
    assert stream(Wire({CHAT: SILENT, METRICS: [figures(1000, 600), after]}))[-1] == Usage(200, None, 11, finish="stop")


def test_row_metrics_are_asked_only_while_nothing_else_tells() -> None:
    wire = Wire({CHAT: ANSWER, METRICS: figures(1, 1)})
    model = backend(wire, "vllm")
    for _ in range(3):
        list(model.stream([USER], []))
    assert wire.asked(METRICS) == 1
    closed = Wire({CHAT: SILENT})
    model = backend(closed, "vllm")
    for _ in range(3):
        assert list(model.stream([USER], []))[-1] == Usage(200, None, 11, finish="stop")
    assert closed.asked(METRICS) == 1
    other = Wire({CHAT: SILENT, METRICS: figures(1, 1)})
    list(backend(other, "openai").stream([USER], []))
    assert not other.asked(METRICS)


def test_row_metrics_of_several_engines_add_up_and_two_names_do_not() -> None:
    both = figures(100, 60) + figures(10, 6) + figures(7, 7, "vllm:gpu_prefix_cache_{}")
    assert read((both + b"vllm:kv_cache_usage_perc{x} 0.25\n").decode()) == PrefixCache(110, 66, 0.25)
    for nothing in ("", "vllm:prefix_cache_hits_total 1e400\nvllm:prefix_cache_queries_total 1", "<html>", "x" * 1000):
        assert read(nothing) is None


def test_row_tokenize_counts_the_very_prompt() -> None:
    wire = Wire({CHAT: ANSWER, TOKENIZE: b'{"count":132,"max_model_len":8192,"tokens":[]}'})
    model = backend(wire, "vllm", context=8192, think="off")
    model.counter.whole([SYSTEM, USER], [TOOL])
    counted = wire.sent(TOKENIZE)
    list(model.stream([SYSTEM, USER], [TOOL]))
    assert counted.pop("add_generation_prompt") is True
    assert counted == {part: wire.sent()[part] for part in counted}


def test_row_max_model_len_is_respected() -> None:
    wire = Wire({CHAT: ANSWER, TOKENIZE: b'{"count":8000,"max_model_len":8192,"tokens":[]}'})
    model = backend_on(OpenAIServer(URL, transport=wire, name="vllm"), "tiny", 14_144)
    list(model.stream([SYSTEM, USER], [TOOL], max_tokens=1024))
    assert wire.sent()["max_tokens"] == 192


def test_row_an_overflow_is_refused_and_never_read_for_numbers() -> None:
    words = (
        "This model's maximum context length is 8192 tokens. However, your prompt contains at least 8193 input tokens"
    )
    with pytest.raises(ModelError, match="longer than the model's context"):
        stream(Wire({CHAT: (400, json.dumps({"error": {"message": words}}).encode())}))
    wire = Wire({CHAT: ANSWER, TOKENIZE: b'{"count":8192,"max_model_len":8192,"tokens":[]}'})
    with pytest.raises(ModelError, match="the prompt of 8,192 tokens leaves no room"):
        stream(wire, context=8192)
    assert not wire.asked(CHAT)
