"""What was recorded is whole, says nothing of the machine it was recorded on, and shows what the backends rely on."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.recorded import FOLDER, Exchange, Replay, recorded

FILES = sorted(FOLDER.glob("*/*.http"))
SERVERS = ["vllm", "llama"]


def named(file: Path) -> str:
    return f"{file.parent.name}-{file.stem}"


def deltas(exchange: Exchange) -> list[dict[str, Any]]:
    return [choice["delta"] for chunk in exchange.chunks for choice in chunk["choices"]]


def text(exchange: Exchange) -> str:
    return "".join(delta.get("content") or "" for delta in deltas(exchange))


def calls(exchange: Exchange) -> list[tuple[str, str]]:
    """Names and arguments of the calls whose fragments were streamed."""
    found: dict[int, list[str]] = {}
    for delta in deltas(exchange):
        for call in delta.get("tool_calls") or ():
            name, arguments = found.get(call["index"], ("", ""))
            function = call["function"]
            found[call["index"]] = [name + function.get("name", ""), arguments + function.get("arguments", "")]
    return [(name, arguments) for name, arguments in found.values()]


def finish(exchange: Exchange) -> str:
    (reason,) = {choice["finish_reason"] for chunk in exchange.chunks for choice in chunk["choices"]} - {None}
    return str(reason)


@pytest.mark.parametrize("file", FILES, ids=named)
def test_a_file_is_whole_small_and_says_nothing_of_its_machine(file: Path) -> None:
    exchange = recorded(file.parent.name, file.stem)
    assert exchange.body
    assert len(exchange.body) < 40_000
    assert not re.search(rb"/(home|root|tmp|usr|var|work)/|\\b127\\.0\\.0\\.1|localhost", file.read_bytes())
    if "event-stream" in exchange.kind:
        assert exchange.chunks
    elif "json" in exchange.kind:
        assert json.loads(exchange.body)


@pytest.mark.parametrize("server", SERVERS)
def test_a_replay_answers_each_path_in_order_and_the_last_again(server: str) -> None:
    replay = Replay(server, "models", "call", "text")
    with httpx.Client(transport=replay, base_url="http://127.0.0.1:8000") as client:
        chats = [client.post("/v1/chat/completions", json={}).content for _ in range(3)]
        assert client.get("/v1/models").json()["data"][0]["id"] == "tiny"
        assert client.get("/tokenize").status_code == 404
    assert chats == [recorded(server, name).body for name in ("call", "text", "text")]
    assert len(replay.asked) == 5


def test_a_response_can_break_off() -> None:
    response = recorded("vllm", "call").response(end=100)
    got: list[bytes] = []
    with pytest.raises(httpx.RemoteProtocolError):
        got.extend(response.iter_bytes())
    assert b"".join(got) == recorded("vllm", "call").body[:100]


@pytest.mark.parametrize("server", SERVERS)
def test_text_and_calls_were_streamed_in_pieces(server: str) -> None:
    assert text(recorded(server, "text")) == "A thimble holds €1 — 2 ml [café-thimbles]."
    assert finish(recorded(server, "text")) == "stop"
    first = ("list_articles", '{"topic": "café \\"thimbles\\""}')
    assert calls(recorded(server, "call")) == [first]
    assert calls(recorded(server, "two-calls")) == [first, ("read_article", '{"slug": "thimbles"}')]
    assert text(recorded(server, "two-calls")).strip() == "I look twice."
    assert finish(recorded(server, "two-calls")) == "tool_calls"


@pytest.mark.parametrize("server", SERVERS)
def test_left_to_itself_the_tiny_model_calls_a_tool(server: str) -> None:
    assert calls(recorded(server, "own-words")) == [("list_articles", '{"topic": "bosfisdul"}')]
    assert text(recorded(server, "own-words")).strip() == "I will look for an article about bosfisdul."


@pytest.mark.parametrize("server", SERVERS)
def test_a_call_that_was_cut_by_length_has_no_whole_arguments(server: str) -> None:
    exchange = recorded(server, "cut-by-length")
    assert finish(exchange) == "length"
    for _, arguments in calls(exchange):
        with pytest.raises(json.JSONDecodeError):
            json.loads(arguments)


def test_vllm_streams_a_broken_call_as_a_call_and_leaves_it_in_the_text_of_a_whole_reply() -> None:
    assert calls(recorded("vllm", "broken-call")) == [("list_articles", '{"topic": }}')]
    message = json.loads(recorded("vllm", "broken-call-whole").body)["choices"][0]["message"]
    assert message["content"].startswith("<tool_call>")
    assert not message.get("tool_calls")


def test_reasoning_has_a_field_of_its_own() -> None:
    pieces = [delta.get("reasoning") or "" for delta in deltas(recorded("vllm", "reasoning"))]
    assert "".join(pieces).strip().startswith("A list will do.")
    assert text(recorded("vllm", "reasoning")).strip() == "I look."


@pytest.mark.parametrize("server", SERVERS)
def test_the_second_time_a_prompt_was_cached(server: str) -> None:
    first, second = (recorded(server, name).chunks[-1]["usage"] for name in ("own-words", "own-words-cached"))
    assert first["prompt_tokens"] == second["prompt_tokens"]
    cached = second["prompt_tokens_details"]["cached_tokens"]
    assert cached == (first["prompt_tokens"] - 1 if server == "llama" else first["prompt_tokens"] // 128 * 128)


def test_vllm_without_the_flag_does_not_tell_cached_tokens() -> None:
    assert recorded("vllm", "no-details").chunks[-1]["usage"].get("prompt_tokens_details") is None


def test_vllm_s_count_of_a_prompt_is_what_it_read() -> None:
    counted = json.loads(recorded("vllm", "tokenize").body)
    assert counted["count"] == recorded("vllm", "own-words").chunks[-1]["usage"]["prompt_tokens"]
    assert counted["max_model_len"] == 8192


@pytest.mark.parametrize(
    ("server", "name", "status", "words"),
    [
        ("vllm", "too-long", 400, "maximum context length"),
        ("vllm", "too-long-whole", 400, "maximum context length"),
        ("vllm", "reply-too-long", 400, "max_tokens"),
        ("vllm", "wrong-model", 404, "does not exist"),
        ("vllm", "wrong-path", 404, "Not Found"),
        ("vllm", "wrong-key", 401, "Unauthorized"),
        ("vllm", "no-tool-parser", 400, "enable-auto-tool-choice"),
        ("llama", "too-long", 400, "exceed_context_size_error"),
        ("llama", "too-long-whole", 400, "exceed_context_size_error"),
        ("llama", "wrong-path", 404, "not_found_error"),
        ("llama", "wrong-key", 401, "authentication_error"),
        ("llama", "loading", 503, "Loading model"),
        ("llama", "wrong-model", 200, "tiny"),
    ],
)
def test_failures_before_a_stream_are_plain_json(server: str, name: str, status: int, words: str) -> None:
    exchange = recorded(server, name)
    assert exchange.status == status
    assert words in exchange.body.decode()
    assert status == 200 or "json" in exchange.kind
