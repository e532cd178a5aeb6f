"""Laws of every server: how a reply arrives makes no difference, and whatever a history holds can be sent."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.both_servers import SERVERS, named
from tests.support.ollama_wire import Chunks
from tests.support.openai_wire import SYSTEM, TOOL, USER
from thimble.agent.errors import ModelError
from thimble.agent.messages import Message, ToolCall
from thimble.agent.protocols import Delta, Sent, Usage, Waiting
from thimble.models.wire.calls import arguments as object_of

KINDS = pytest.mark.parametrize("kind", SERVERS)
NO_OBJECTS = ["", "{page: 2", "[1]", "null", '"x"', '{"a": NaN}', '{"a": 1e999}', "[" * 100_000]


def reply(kind: str, said: Any) -> list[Delta]:
    """The deltas of a reply."""
    deltas = SERVERS[kind].backend(said).stream((SYSTEM, USER), [TOOL])
    return [delta for delta in deltas if not isinstance(delta, Sent | Waiting)]


def sent(kind: str, *messages: Message, now: float | None = None, **options: Any) -> Any:
    """The body of the request for a reply."""
    wire = SERVERS[kind].wire(SERVERS[kind].answer)
    assert [*SERVERS[kind].backend(wire, **options).stream(messages, [TOOL], temperature=now)]
    return wire.sent()


@KINDS
@given(st.booleans(), st.booleans(), st.data())
def test_chunk_borders_make_no_difference(kind: str, calls: bool, crlf: bool, data: st.DataObject) -> None:
    body = SERVERS[kind].calls if calls else SERVERS[kind].answer
    expected = named(reply(kind, body))
    body = body.replace(b"\n", b"\r\n") if crlf else body
    cuts = data.draw(st.lists(st.integers(0, len(body)), max_size=12).map(sorted))
    pieces = [body[start:end] for start, end in pairwise([0, *cuts, len(body)])]
    assert named(reply(kind, Chunks(pieces))) == expected


@KINDS
@given(st.lists(st.binary(max_size=20), max_size=6))
def test_no_bytes_crash_us(kind: str, pieces: list[bytes]) -> None:
    with pytest.raises(ModelError):
        reply(kind, Chunks(pieces))


LAST = {"ollama": b'"done":true', "openai": b'"stop"'}
"""What is in the last piece of a reply that counts."""


@KINDS
@given(st.data())
def test_a_stream_that_ends_too_early_is_never_taken_for_a_reply(kind: str, data: st.DataObject) -> None:
    body = SERVERS[kind].answer
    end = data.draw(st.integers(0, body.rindex(LAST[kind])))
    for rest in ([], [httpx.RemoteProtocolError("peer closed connection")]):
        deltas: list[Delta] = []
        with pytest.raises(ModelError) as caught:
            deltas.extend(SERVERS[kind].backend(Chunks([body[:end], *rest])).stream((SYSTEM, USER), [TOOL]))
        assert caught.value.fix
        assert not any(isinstance(delta, ToolCall | Usage) for delta in deltas)
        before = [isinstance(delta, Sent | Waiting) for delta in deltas]
        assert before == sorted(before, reverse=True), "nothing is asked again once the reply has begun"


def written(kind: str, body: Any) -> tuple[Any, str]:
    """The arguments of the only call that was sent, and what was said beside it."""
    (message,) = (each for each in body["messages"] if each["role"] == "assistant")
    arguments = message["tool_calls"][0]["function"]["arguments"]
    return arguments if kind == "ollama" else json.loads(arguments), message["content"]


@KINDS
@pytest.mark.parametrize("text", NO_OBJECTS)
def test_arguments_that_are_no_object_go_back_in_one(kind: str, text: str) -> None:
    turn = Message("a", "assistant", calls=(ToolCall("c", "f", text),))
    assert written(kind, sent(kind, SYSTEM, USER, turn))[0] == {"_raw": text}


@KINDS
@given(st.text(st.characters()), st.text(st.characters()) | st.dictionaries(st.text(), st.integers()).map(json.dumps))
def test_any_history_can_be_sent(kind: str, content: str, text: str) -> None:
    turn = Message("a", "assistant", content, calls=(ToolCall("c", "f", text),))
    body = sent(kind, USER, turn)
    arguments, said = written(kind, body)
    assert said == content.encode(errors="replace").decode()
    assert arguments == json.loads(json.dumps(object_of(turn.calls[0]), ensure_ascii=False).encode(errors="replace"))


@KINDS
@given(st.none() | st.floats(0, 2), st.none() | st.integers(0, 2**31 - 1), st.none() | st.just(0.0))
def test_only_the_sampling_that_somebody_wants_is_sent(
    kind: str, wanted: float | None, seed: int | None, now: float | None
) -> None:
    body = sent(kind, USER, now=now, temperature=wanted, seed=seed)
    told = {"temperature": wanted if now is None else now, "seed": seed}
    options = body["options"] if kind == "ollama" else body
    assert {name: options[name] for name in told if name in options} == {
        name: value for name, value in told.items() if value is not None
    }
