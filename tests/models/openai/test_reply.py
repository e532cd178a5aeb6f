from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.both_servers import named
from tests.support.ollama_wire import Chunks
from tests.support.openai_wire import (
    ANSWER,
    CALL,
    CALLED,
    CALLS,
    CHAT,
    DONE,
    LLAMA,
    RESULT,
    SYSTEM,
    TOOL,
    USAGE,
    USER,
    Reply,
    Wire,
    backend,
    chunk,
)
from thimble.agent.errors import ModelError
from thimble.agent.messages import Message, ToolCall
from thimble.agent.protocols import Delta, Expects, Sent, Text, Thinking, Usage


def reply(body: Reply, messages: Sequence[Message] = (SYSTEM, USER), **settings: Any) -> list[Delta]:
    sent, *deltas = backend(Wire({CHAT: body}), **settings).stream(messages, [TOOL])
    assert isinstance(sent, Sent)
    return deltas


def calls(body: Reply) -> list[tuple[str, str]]:
    return [(delta.name, delta.arguments) for delta in reply(body) if isinstance(delta, ToolCall)]


def fragments(*given: object) -> bytes:
    """A stream of these fragments of tool calls, one a chunk; a list is one chunk."""
    lists = (part if isinstance(part, list) else [part] for part in given)
    return b"".join(chunk(f'"tool_calls":{json.dumps(part)}') for part in lists) + chunk("", '"tool_calls"') + DONE


# ---- a request ----


@pytest.mark.parametrize(
    ("expects", "tools", "choice"),
    [("turn", [TOOL], None), ("answer", [TOOL], "none"), ("text", [TOOL], "none"), ("text", [], None)],
)
def test_tool_choice_is_none_if_no_call_would_be_run(expects: Expects, tools: list[Any], choice: str | None) -> None:
    first, *_ = backend(Wire({CHAT: ANSWER})).stream([SYSTEM, USER], tools, expects=expects)
    assert isinstance(first, Sent)
    assert json.loads(first.body).get("tool_choice") == choice
    assert json.loads(first.body).get("tools", []) == tools


# ---- a reply ----


WRONG = ',"usage":{"prompt_tokens":-5,"completion_tokens":true,"prompt_tokens_details":7},"timings":{"prompt_ms":-1}'
CUT = '"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{\\"x"}}]'
BOTH = '"reasoning":"So.","reasoning_content":"So."'
USED = Usage(812, 768, 11, finish="stop")
FINISHES = {"stop": "stop", "tool_calls": "stop", "length": "length", "content_filter": "refusal", "x": "x"}


def said(*deltas: str, finish: str = "stop", rest: str = "") -> bytes:
    """A stream of these deltas and an end."""
    return b"".join(map(chunk, deltas)) + chunk("", f'"{finish}"', rest=rest) + DONE


READ: dict[str, tuple[bytes, list[Any]]] = {
    "text and its account": (ANSWER, [Text("A thimble holds €1 — 2\x85ml."), USED]),
    "no [DONE]": (ANSWER.removesuffix(DONE), [Text("A thimble holds €1 — 2\x85ml."), USED]),
    "times and cached tokens of llama-server": (
        LLAMA,
        [Thinking("Hm."), Text("A thimble."), Usage(13, 12, 4, None, 0.0025, 0.02, "length")],
    ),
    "calls, whole and in order": (
        CALLS,
        [
            Thinking("Two lists will do."),
            Text("I look twice."),
            ("list_articles", '{"page": 2, "topic": "café"}'),
            ("read_article", "{}"),
            USED,
        ],
    ),
    "a call cut by the limit": (said(CUT, finish="length"), [("f", '{"x'), Usage(finish="length")]),
    "a refusal": (said('"refusal":"I can"', '"refusal":"not."'), [Text("I cannot."), Usage(finish="refusal")]),
    "an account that cannot be": (said(rest=WRONG), [Usage(finish="stop")]),
    **{
        f"thoughts in {field}": (said(f'"{field}":"Hm."', BOTH), [Thinking("Hm.So."), Usage(finish="stop")])
        for field in ("reasoning", "reasoning_content")
    },
    **{f"the end {given}": (said(finish=given), [Usage(finish=finish)]) for given, finish in FINISHES.items()},  # type: ignore[arg-type]
    "an event of several lines": (
        said('"content":"A thimble"').replace(b',"created"', b'\ndata: ,"created"'),
        [Text("A thimble"), Usage(finish="stop")],
    ),
}


@pytest.mark.parametrize("name", READ)
def test_a_reply_is_read(name: str) -> None:
    body, deltas = READ[name]
    assert named(reply(body)) == deltas


def test_a_reply_without_a_reason_to_end_is_broken() -> None:
    with pytest.raises(ModelError, match="stopped in the middle"):
        reply(chunk('"content":"A"'))


@given(st.sampled_from([ANSWER, CALLS, LLAMA]), st.data())
def test_comments_and_other_fields_make_no_difference(body: bytes, data: st.DataObject) -> None:
    events = body.split(b"\n\n")
    for _ in range(data.draw(st.integers(1, 4))):
        noise = data.draw(st.sampled_from([b": ping", b"event: message", b"id: 7", b"retry: 100", b":", b""]))
        events.insert(data.draw(st.integers(0, len(events) - 1)), noise)
    assert named(reply(Chunks([b"\n\n".join(events)]))) == named(reply(body))


def piece(name: object = None, arguments: object = None, **more: object) -> dict[str, object]:
    """A fragment of a call."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {**more, "function": function}


FRAGMENTS: dict[str, tuple[list[object], list[tuple[str, str]]]] = {
    "whole": ([piece("f", '{"x":1}', index=0, id="a")], [("f", '{"x":1}')]),
    "whole, without index and id": ([[piece("f", "{}"), piece("f", "{}")]], [("f", "{}"), ("f", "{}")]),
    "without an index": ([piece("f", id="a"), piece(None, '{"x"'), piece(None, ":1}")], [("f", '{"x":1}')]),
    "all numbered 0": (
        [piece("f", "{}", index=0, id="a"), piece("g", '{"y"', index=0, id="b"), piece(None, ":2}", index=0)],
        [("f", "{}"), ("g", '{"y":2}')],
    ),
    "a name in two pieces": ([piece("list_", index=0, id="a"), piece("articles", index=0)], [("list_articles", "{}")]),
    "id and name repeated": ([piece("f", part, index=0, id="a") for part in ('{"x"', ":1}")], [("f", '{"x":1}')]),
    "another id with each fragment, and no name": (
        [piece("", part, index=0, id=f"a{part}") for part in ('{"x"', ":1}")],
        [("", '{"x":1}')],
    ),
    "mixed": (
        [
            piece("g", "{", index=1, id="b"),
            piece("f", "{", index=0, id="a"),
            *(piece(None, "}", index=n) for n in (1, 0)),
        ],
        [("g", "{}"), ("f", "{}")],
    ),
    "mixed, by their ids alone": (
        [piece("f", id="a"), piece("g", id="b"), piece(None, '{"x":1}', id="a"), piece(None, '{"y":2}', id="b")],
        [("f", '{"x":1}'), ("g", '{"y":2}')],
    ),
    "an object": ([piece("f", {"x": 1}, index=0)], [("f", '{"x": 1}')]),
    "no arguments": ([{"index": 0, "function": {"name": "f", "arguments": None}}], [("f", "{}")]),
    "nonsense": ([piece("f", index=None), {"index": "0"}, 7], [("f", "{}")]),
}


@pytest.mark.parametrize("form", FRAGMENTS)
def test_fragments_of_calls_are_put_together(form: str) -> None:
    given_, expected = FRAGMENTS[form]
    assert calls(fragments(*given_)) == expected


@given(st.lists(st.sampled_from(["", "call_1", "x", "y"]), min_size=1, max_size=4))
def test_ids_are_unique_in_the_conversation(ids: list[str]) -> None:
    body = fragments(*({"index": at, "id": one, "function": {"name": "f"}} for at, one in enumerate(ids)))
    made = [delta.id for delta in reply(body, [SYSTEM, USER, CALLED, RESULT]) if isinstance(delta, ToolCall)]
    assert len(made) == len(ids)
    assert len({*made, "", "call_1"}) == len(ids) + 2
    assert "x" not in ids or "x" in made


def test_a_whole_reply_is_read_as_a_streamed_one() -> None:
    message = {
        "role": "assistant",
        "content": "I look twice.",
        "reasoning": "Two lists will do.",
        "tool_calls": [
            {"id": "a", "function": {"name": "list_articles", "arguments": '{"page": 2, "topic": "café"}'}},
            {"id": "b", "function": {"name": "read_article", "arguments": "{}"}},
        ],
    }  # fmt: skip
    body = json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "x": 1})
    whole = (body[:-1] + USAGE + "}").encode()
    wire = Wire({CHAT: whole})
    assert named(list(backend(wire, stream=False).stream([SYSTEM, USER], [TOOL]))[1:]) == named(reply(CALLS))
    assert not {"stream", "stream_options"} & set(wire.sent())
    assert named(reply(whole)) == named(reply(CALLS))  # a server that does not stream though it is asked to


# ---- a request ----


def test_a_request_in_full() -> None:
    wire = Wire({CHAT: ANSWER})
    list(backend(wire).stream([SYSTEM, USER, CALLED, RESULT], [TOOL], max_tokens=300))
    function = {"name": "list_articles", "arguments": '{"topic": "café"}'}
    assert wire.sent() == {
        "model": "tiny",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "What holds 2 ml?"},
            {
                "role": "assistant",
                "content": "I look.",
                "tool_calls": [{"id": "call_1", "type": "function", "function": function}],
            },
            {"role": "tool", "content": "16 articles", "tool_call_id": "call_1"},
        ],
        "tools": [TOOL],
        "max_tokens": 300,
        "stream": True,
        "stream_options": {"include_usage": True},
    }


@pytest.mark.parametrize(
    ("thought", "field"),
    [
        (b'"reasoning":"hm"', "reasoning"),
        (b'"reasoning_content":"hm"', "reasoning_content"),
        (b'"content":"<think>hm</think>"', "content"),
        (b'"content":"hm"', ""),
    ],
)
def test_thinking_goes_back_in_the_field_in_which_it_came(thought: bytes, field: str) -> None:
    turn = Message("a", "assistant", None, thinking="SECRET", calls=(CALL,))  # type: ignore[arg-type]
    wire = Wire({CHAT: chunk(thought.decode()) + chunk("", '"stop"') + DONE})
    model = backend(wire)
    for returns in (False, bool(field)):
        assert model.returns_thinking == returns
        list(model.stream([SYSTEM, USER, turn], [TOOL]))
        message = wire.sent()["messages"][2]
        assert [name for name in message if "SECRET" in str(message[name])] == ([field] if returns else [])
        assert message["content"] == ("<think>\nSECRET\n</think>\n\n" if returns and field == "content" else "")


@pytest.mark.parametrize(
    ("think", "sent"),
    [
        ("on", {}),
        ("off", {"chat_template_kwargs": {"enable_thinking": False}}),
        ("low", {"reasoning_effort": "low"}),
        ("high", {"reasoning_effort": "high"}),
    ],
)
def test_the_effort_to_think_is_sent_only_if_set(think: str, sent: dict[str, object]) -> None:
    wire = Wire({CHAT: ANSWER})
    list(backend(wire, think=think).stream([USER], []))
    assert {key: wire.sent()[key] for key in ("chat_template_kwargs", "reasoning_effort") if key in wire.sent()} == sent


def test_a_model_that_was_seen_to_think_gets_room_for_it() -> None:
    wire = Wire({CHAT: [CALLS, ANSWER, ANSWER]})
    model = backend(wire)
    asked = []
    for _ in range(3):
        list(model.stream([USER], [], max_tokens=100))
        asked.append(wire.sent()["max_tokens"])
    assert asked == [100, 4196, 4196]


# ---- temperature and seed ----

REFUSED = b'{"error":{"message":"Unsupported value: \'temperature\' does not support 0 with this model.","code":400}}'


def test_a_refused_temperature_of_thimble_is_left_out() -> None:
    wire = Wire({CHAT: [(400, REFUSED), ANSWER, ANSWER]})
    model = backend(wire)
    for _ in range(2):
        assert Text("A thimble") in list(model.stream([USER], [], temperature=0))
        assert "temperature" not in wire.sent()
    assert wire.asked(CHAT) == 3, "refused once, it is not tried again"


def test_a_refused_temperature_of_the_user_is_an_error() -> None:
    wire = Wire({CHAT: [(400, REFUSED), (400, REFUSED)]})
    with pytest.raises(ModelError, match="does not take --temperature"):
        list(backend(wire, temperature=0.5).stream([USER], []))
