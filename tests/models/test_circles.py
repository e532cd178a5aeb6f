"""Circles on every server: the reply is read no further, and Ollama's own guard is known by what it leaves."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import ollama_wire, openai_wire
from tests.support.both_servers import SERVERS
from tests.support.ollama_wire import Chunks
from tests.support.openai_wire import SYSTEM, TOOL, USER
from thimble.agent.errors import ModelError, RepetitionDetected
from thimble.agent.protocols import Text
from thimble.agent.reply import Reply
from thimble.models.ollama import wire
from thimble.models.tool_calls.caller import ToolCaller

SENTENCE = "The quick brown fox jumps over the lazy dog again. "
GUARD = "chat-stopped-by-the-servers-repetition-guard.response"
RECORDED = Path(__file__).parent / "recorded" / "ollama-0.33.0-rc2" / GUARD


def line(text: str) -> bytes:
    return json.dumps({"message": {"role": "assistant", "content": text}, "done": False}).encode() + b"\n"


LINES = {"ollama": line, "openai": lambda text: openai_wire.chunk(f'"content":{json.dumps(text)}')}


def endless(piece: bytes, read: list[bytes]) -> Iterator[bytes]:
    while True:
        read.append(piece)
        yield piece


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("tools", [[], [TOOL]])
def test_the_connection_is_closed_after_a_few_rounds(server: str, tools: list[dict[str, object]]) -> None:
    read: list[bytes] = []
    chunks = Chunks(endless(LINES[server](SENTENCE), read))
    wire = ollama_wire.Wire(chat=chunks) if server == "ollama" else openai_wire.Wire({openai_wire.CHAT: chunks})
    stream = ToolCaller(SERVERS[server].backend(wire)).stream([SYSTEM, USER], tools)
    reply = Reply.of(stream)
    assert reply.stopped_by == "thimble"
    assert "".join(reply.text) == (SENTENCE * 20)[: len("".join(reply.text))]
    assert len(read) < 12
    assert chunks.closed


def answered(pieces: Iterable[str], ends: str = "", tools: bool = True) -> Reply:
    body = b"".join(map(line, pieces)) + ends.encode()
    backend = ToolCaller(ollama_wire.model(ollama_wire.Wire(chat=body)))
    return Reply.of(backend.stream([SYSTEM, USER], [TOOL] if tools else []))


def recorded() -> list[str]:
    """The tokens of the recorded reply that the guard has ended."""
    lines = RECORDED.read_bytes().split(b"\r\n\r\n", 1)[1].split(b"\n")
    return [json.loads(line)["message"]["content"] for line in lines if line.startswith(b"{")]


@pytest.mark.parametrize("tools", [True, False])
def test_a_reply_that_the_guard_ended_is_whole(tools: bool) -> None:
    reply = answered(recorded(), tools=tools)
    assert "".join(reply.text) == "".join(recorded())
    assert reply.stopped_by == "server"


@given(st.lists(st.sampled_from(["1", " 1", "2"]), max_size=40), st.integers(0, 40))
def test_only_more_than_thirty_equal_tokens_are_the_guard_s_work(before: list[str], times: int) -> None:
    said = [*before, "x", *["1"] * times]
    assert wire.stopped_by_guard(list(map(Text, said))) == (times > wire.MAX_EQUAL_TOKENS)


def test_any_other_reply_without_an_end_is_broken() -> None:
    with pytest.raises(ModelError, match="in the middle of a reply") as caught:
        answered(["1"] * 20)
    assert not isinstance(caught.value, RepetitionDetected)
