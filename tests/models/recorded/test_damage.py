"""What real servers sent, cut or spoilt on its way: the same conversation, or one clear error and a sound history."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import httpx
from hypothesis import given
from hypothesis import strategies as st

from tests.support import ollama_wire as ollama
from tests.support import openai_wire as openai
from tests.support.histories import is_sound
from tests.support.ollama_wire import Chunks
from tests.support.recorded import recorded
from tests.support.scripted_loop import Acts
from thimble.agent.agent import Agent
from thimble.agent.errors import ModelError
from thimble.agent.loop import run
from thimble.agent.protocols import Backend
from thimble.agent.side import SideModel
from thimble.agent.state import State
from thimble.models.tool_calls.caller import ToolCaller
from thimble.strategies.none import NoManagement

RECORDED = [
    *(("vllm", name) for name in ("text", "call", "two-calls", "reasoning", "cut-by-length", "broken-call")),
    *(("llama", name) for name in ("text", "call", "two-calls", "cut-by-length")),
]
BODIES = [
    *((server, recorded(server, name).body) for server, name in RECORDED),
    ("ollama", ollama.ANSWER),
    ("ollama", ollama.CALLS),
]
ENDS = [[], [httpx.RemoteProtocolError("peer closed connection")], [httpx.ReadError("reset")]]


def backend(server: str, *pieces: bytes | Exception) -> Backend:
    """A model behind a server that answers everything with these pieces."""
    body = Chunks(pieces)
    if server == "ollama":
        return ToolCaller(ollama.model(ollama.Wire(chat=body)))
    return ToolCaller(openai.backend(openai.Wire({openai.CHAT: body})))


def told(agent: Agent) -> list[object]:
    """The history that one question makes, without ids."""
    assert list(run(agent, "What holds 2 ml?"))
    return [(m.role, m.content, [(c.name, c.arguments) for c in m.calls]) for m in agent.history]


@cache
def undamaged(server: str, body: bytes) -> list[object]:
    """What is told of a whole reply, asked once for each."""
    return told(agent_with(backend(server, body)))


def agent_with(model: Backend) -> Agent:
    tools = {name: Acts(name, lambda _: "16 articles") for name in ("list_articles", "read_article")}
    return Agent(model, NoManagement(), State("none"), tools, SideModel(model), max_turns=2)


def in_pieces(body: bytes, data: st.DataObject) -> list[bytes]:
    cuts = data.draw(st.lists(st.integers(0, len(body)), max_size=8).map(sorted))
    return [body[start:end] for start, end in pairwise([0, *cuts, len(body)])]


def survives(server: str, whole: bytes, *pieces: bytes | Exception) -> list[object]:
    """What is told of damaged pieces, nothing where there is an error; either way the session goes on."""
    agent = agent_with(backend(server, *pieces))
    found: list[object] = []
    failed: list[ModelError] = []
    try:
        found = told(agent)
    except ModelError as error:
        failed.append(error)
    assert all(error.what and error.fix for error in failed)
    assert not any({"\n", "\r"} & set(error.what + error.fix) for error in failed)
    assert is_sound(agent.history) == []
    agent.backend = backend(server, whole)
    assert told(agent)
    assert is_sound(agent.history) == []
    return found


@given(st.sampled_from(BODIES), st.sampled_from(ENDS), st.data())
def test_a_reply_that_is_cut_anywhere_is_the_same_or_one_clear_error(
    sent: tuple[str, bytes], end: list[Exception], data: st.DataObject
) -> None:
    server, body = sent
    at = data.draw(st.integers(0, len(body)))
    found = survives(server, body, *in_pieces(body[:at], data), *end)
    assert found in ([], undamaged(server, body))


@given(st.sampled_from(BODIES), st.data())
def test_a_reply_that_is_spoilt_anywhere_leaves_the_history_sound(sent: tuple[str, bytes], data: st.DataObject) -> None:
    server, body = sent
    for _ in range(data.draw(st.integers(1, 3))):
        start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(body))] * 2)))
        spoilt = data.draw(
            st.sampled_from([b"", body[start:end] * 2, b"\xff", b"\n", b"{", b"null", b"\xed\xa0\x80"])
            | st.binary(max_size=9)
        )
        body = body[:start] + spoilt + body[end if data.draw(st.booleans()) else start + len(spoilt) :]
    survives(server, sent[1], *in_pieces(body, data))
