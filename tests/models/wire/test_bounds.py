"""What a server may send is bounded below every backend, whatever it sends: real bytes over loopback."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator
from itertools import repeat
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import openai_wire
from tests.support.both_servers import SERVERS, failure
from tests.support.family import family
from tests.support.scripted_server import Answer, front
from tests.support.wire import Chunks
from thimble.agent import foreign
from thimble.agent.errors import ModelError
from thimble.agent.messages import Message
from thimble.agent.protocols import Text, Thinking
from thimble.models.ollama.backend import Ollama
from thimble.models.ollama.server import OllamaServer
from thimble.models.openai.backend import OpenAIBackend
from thimble.models.openai.connection import Connection
from thimble.models.server import ServerOptions
from thimble.models.wire.address import server_answers
from thimble.models.wire.bounds import (
    ANSWER_BYTES,
    ASK_SECONDS,
    ASK_WHOLE_SECONDS,
    NAME_CHARACTERS,
    REPLY_BYTES,
    REPLY_CALLS,
    Allowance,
    Bounds,
)
from thimble.models.wire.calls import make_call as call_given
from thimble.models.wire.text import BLANKS, ReplyText

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
EMPTY = {"ollama": b'{"message":{"content":""}}\n', "openai": openai_wire.chunk('"content":""')}
WORD = {"ollama": b'{"message":{"content":"a"}}\n', "openai": openai_wire.chunk('"content":"a"')}
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def drips(first: bytes, again: bytes) -> Answer:
    """What comes first, and then again and again."""
    return (first, *(0.02, again) * 100)


def dripping(kind: str) -> dict[str, Answer]:
    """What never becomes a whole reply."""
    return {
        "nothing at all": drips(b"", b""),
        "100 Continue": drips(b"", CONTINUE),
        "102 Processing": drips(b"", b"HTTP/1.1 102 Processing\r\nx: y\r\n\r\n"),
        "a status line": drips(b"", b"H"),
        "headers": drips(b"HTTP/1.1 200 OK\r\n", b"x: y\r\n"),
        "a header": drips(b"HTTP/1.1 200 OK\r\nx: ", b"y"),
        "blank lines": drips(HEAD, b"\n"),
        "comments": drips(HEAD, b": ping\n\n" if kind == "openai" else b"\r\n"),
        "a line": drips(HEAD + EMPTY[kind].strip()[:-1], b" "),
        "empty pieces": drips(HEAD, EMPTY[kind]),
        "words": drips(HEAD, WORD[kind]),
    }


@pytest.mark.parametrize("kind", SERVERS)
def test_a_reply_in_drips_ends_with_the_time_for_the_whole(kind: str) -> None:
    options = ServerOptions(timeout_seconds=60, reply_seconds=0.1)
    asked = b'{"model":"tiny","messages":[]}', [Message("u", "user", "How much?")]
    for name, answer in dripping(kind).items():
        with front(otherwise=answer) as server:
            model: Any = OpenAIBackend("openai", "tiny", Connection(server.url), needed=9_000, options=options)
            model = model if kind == "openai" else Ollama("tiny", OllamaServer(server.url, options))
            with pytest.raises(ModelError) as caught:
                list(model._reply(*asked, Allowance(options.reply, server.url)))
        assert "did not finish its answer in" in caught.value.what, name
        assert "--reply-timeout" in caught.value.fix


@pytest.mark.parametrize(("first", "piece"), [(b"", b""), (b"", CONTINUE), (HEAD, b" ")])
def test_a_question_about_the_server_is_bounded_alike(first: bytes, piece: bytes) -> None:
    with front(otherwise=drips(first, piece)) as server:
        with pytest.raises(ModelError, match=r"sent nothing|did not finish its answer"):
            Connection(server.url, bounds=Bounds(0.1, 0.2)).list_models()
        assert not server_answers(server.url, "/v1/models", lambda status, answer: True, 0.1)


def test_a_server_that_was_slow_to_tell_of_a_model_is_not_asked_again_at_once() -> None:
    asked: list[bytes] = []

    def silent(request: bytes) -> Answer:
        asked.append(request)
        return (0.3,)

    with front(otherwise=silent) as slow:
        server = OllamaServer(slow.url, ServerOptions(timeout_seconds=0.2))
        for ask in (server.info, server.loaded) * 9:
            with pytest.raises(ModelError, match="sent nothing for"):
                ask("tiny")
    assert len(asked) <= 2


def test_the_bounds_of_a_question_are_never_longer_than_those_of_a_reply() -> None:
    assert ServerOptions().answer == Bounds(ASK_SECONDS, ASK_WHOLE_SECONDS, ANSWER_BYTES)
    assert ServerOptions(timeout_seconds=1, reply_seconds=2).answer == Bounds(1, 2, ANSWER_BYTES)
    assert ServerOptions().reply == Bounds(300, 1_800, REPLY_BYTES)


ZEROS = gzip.compress(bytes(1_000_000))
PACKED = {"gzip": ZEROS, "GZIP": ZEROS, "gzip, gzip": gzip.compress(ZEROS), "br": ZEROS}


@pytest.mark.parametrize("kind", SERVERS)
@pytest.mark.parametrize("status", [200, 500])
@pytest.mark.parametrize("packing", family(PACKED))
def test_a_packed_answer_is_refused_before_it_is_unpacked(kind: str, status: int, packing: str) -> None:
    header = {"content-encoding": packing}
    assert "compresses its answer" in failure(kind, (status, PACKED[packing], header)).what
    wire = httpx.MockTransport(lambda _: httpx.Response(status, headers=header, content=iter([PACKED[packing]])))
    with pytest.raises(ModelError, match="compresses its answer"):
        Connection("http://box", wire).list_models()


@pytest.mark.parametrize("kind", SERVERS)
@pytest.mark.parametrize("piece", [b"x" * 500_000, b"data: " + b"x" * 500_000 + b"\n", b"data:\n" * 80_000])
def test_replies_without_an_end_are_one_clear_error_each(kind: str, piece: bytes) -> None:
    error = failure(kind, Chunks(_limited(repeat(piece), 60)))
    assert re.search("more than 4 MB|does not end|not an Ollama server", error.what)


def test_a_question_about_the_server_has_an_answer_of_some_length() -> None:
    wire = httpx.MockTransport(lambda _: httpx.Response(200, content=_limited(repeat(b"x" * 500_000), 60)))
    with pytest.raises(ModelError, match="does not end its answer"):
        Connection("http://box", wire).list_models()


@given(st.integers(1, 1_000), st.integers(1, 1_000))
def test_bytes_are_counted_over_all_pieces(limit: int, piece: int) -> None:
    allowance = Allowance(Bounds(60, 60, limit), "http://box")
    for _ in range(limit // piece):
        allowance.spend(piece)
    with pytest.raises(ModelError, match="does not end"):
        allowance.spend(limit % piece + 1)


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda each: st.lists(each, max_size=3) | st.dictionaries(st.text(max_size=3), each, max_size=3),
    max_leaves=9,
)


@given(JSON)
def test_json_within_the_bounds_is_read_as_ever(value: Any) -> None:
    text = json.dumps(value)
    assert foreign.parse_json(text) == foreign.parse_json(text.encode()) == value


@given(st.integers(0, 200), st.sampled_from([("[", "]"), ('{"a":', "}")]), JSON)
def test_json_is_read_up_to_its_depth(depth: int, brackets: tuple[str, str], value: Any) -> None:
    text = brackets[0] * depth + json.dumps([value] * 40) + brackets[1] * depth
    deep = depth + 1 + _depth(value) > foreign.MAX_DEPTH
    if deep:
        with pytest.raises(ValueError, match="too deep"):
            foreign.parse_json(text)
    else:
        assert foreign.parse_json(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "[" * 100_000 + "]" * 100_000,
        '{"a":' * 100_000 + "1" + "}" * 100_000,
        "[" + "[]," * foreign.MAX_OBJECTS + "0]",
        '{"a":0,' + '"b":0,' * foreign.MAX_OBJECTS + '"c":0}',
        "[" + "0," * (foreign.MAX_VALUES + 1) + "0]",
    ],
)
def test_json_beyond_the_bounds_is_none(text: str) -> None:
    with pytest.raises(ValueError, match=r"too (deep|many)|delimiter|Expecting"):
        foreign.parse_json(text)


DEEP = [
    b'{"message":{"content":%s}}\n',
    b'{"error":%s}\n',
    b'{"message":{"tool_calls":[{"function":{"name":"f","arguments":%s}}]}}\n',
    b'{"choices":[{"delta":{"content":%s}}]}',
    b'{"choices":[{"delta":{"content":[{"text":%s}]}}]}',
    b'{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":%s}}]}}]}',
]


@pytest.mark.parametrize("kind", SERVERS)
@pytest.mark.parametrize("around", DEEP)
@pytest.mark.parametrize("depth", family([100_000, 900]))
def test_deep_nesting_is_an_error_of_one_line(kind: str, around: bytes, depth: int) -> None:
    line = around % (b"[" * depth + b"]" * depth)
    failure(kind, (200, (b"data: " if kind == "openai" else b"") + line + b"\n\n"))
    failure(kind, (500, line))


@pytest.mark.parametrize("kind", SERVERS)
def test_more_calls_than_can_be_meant_are_an_error(kind: str) -> None:
    one = {"function": {"name": "f", "arguments": {}}}
    many = [{**one, "index": place} for place in range(REPLY_CALLS + 1)]
    message: dict[str, Any] = {"role": "assistant", "content": "", "tool_calls": many}
    body = {"message": message, "done": True} if kind == "ollama" else {"choices": [{"message": message}]}
    assert "does not end" in failure(kind, json.dumps(body).encode()).what


@given(st.text(max_size=600), st.text(max_size=600))
def test_ids_and_names_are_short(call_id: str, name: str) -> None:
    call = call_given(call_id, name, {}, set())
    assert 0 < len(call.id) <= NAME_CHARACTERS
    assert call.name == (name if len(name) <= NAME_CHARACTERS else "")


@pytest.mark.parametrize("blanks", [BLANKS - 1, BLANKS + 9])
def test_blanks_without_an_end_are_text(blanks: int) -> None:
    tags = ReplyText()
    pieces = [*map(Text, " " * blanks), Text("<think>x</think>")]
    kinds = {type(delta) for piece in pieces for delta in tags.add_delta(piece)}
    assert kinds == ({Thinking} if blanks < BLANKS else {Text})


def _limited(pieces: Iterable[bytes], most: int) -> Iterator[bytes]:
    """So many pieces: more were asked for than any bound allows if they all are."""
    for number, piece in enumerate(pieces):
        assert number < most
        yield piece


def _depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(_depth, inner), default=0)
