from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.support.ollama_wire import ANSWER, CALLS, Wire, model, server
from thimble.agent.messages import Message, ToolCall
from thimble.agent.protocols import Delta, Sent, Text, Thinking, Usage, Waiting
from thimble.models.ollama.backend import Ollama

SYSTEM, USER = Message("s", "system", "Be brief."), Message("u", "user", "What holds 2 ml?")
TOOL = {"type": "function", "function": {"name": "list_articles", "description": "List.", "parameters": {}}}


def reply(wire: Wire, messages: Sequence[Message] = (SYSTEM, USER), **options: Any) -> list[Delta]:
    deltas = list(model(wire, **options).stream(messages, [TOOL]))
    assert deltas.pop(0) == Waiting("loading qwen2.5:7b")
    assert isinstance(deltas.pop(0), Sent)
    return deltas


# ---- a reply ----


def test_a_reply_streams_text_and_then_its_account() -> None:
    assert reply(Wire(chat=ANSWER)) == [
        Text("A thimble"),
        Text(" holds €1 — 2\x85ml."),
        Usage(812, None, 11, 1.0, 0.5, 0.75, "stop"),
    ]


def test_an_account_that_cannot_be_is_unknown() -> None:
    wrong = {
        "prompt_eval_count": -5,
        "prompt_eval_cached_count": 5,
        "eval_count": 10**30,
        "eval_duration": 10**1000,
        "load_duration": -1,
    }
    line = json.dumps({"message": {"content": "A"}, "error": None, "done": True, **wrong}).encode()
    assert reply(Wire(chat=line))[-1] == Usage()


def test_tool_calls_arrive_whole_with_ids_that_no_other_call_has() -> None:
    history = (SYSTEM, USER, Message("a", "assistant", calls=(ToolCall("call_k2m9", "list_articles"),)))
    deltas = reply(Wire(chat=CALLS), history)
    calls = [delta for delta in deltas if isinstance(delta, ToolCall)]
    assert deltas[:3] == [Thinking("Two lists "), Thinking("will do."), Text("I look twice.")]
    assert [(call.name, json.loads(call.arguments)) for call in calls] == [
        ("list_articles", {"page": 2, "topic": "café"}),
        ("list_articles", {}),
        ("list_articles", {}),
    ]
    assert len({call.id for call in calls} | {"call_k2m9", ""}) == 5
    own = [delta.id for delta in reply(Wire(chat=CALLS)) if isinstance(delta, ToolCall)]
    assert own[0] == "call_k2m9", "the server's own, where no other call has it"
    assert deltas[-1] == Usage(3000, 2500, 40, 0.0, 0.25, 2.0, "length")


@given(st.text(), st.text(), st.dictionaries(st.text(), st.none() | st.integers() | st.text()))
def test_any_text_and_arguments_come_through(text: str, thinking: str, arguments: dict[str, object]) -> None:
    message = {
        "content": text,
        "thinking": thinking,
        "tool_calls": [{"function": {"name": "f", "arguments": arguments}}],
    }
    body = json.dumps({"message": message, "done": True}, ensure_ascii=False).encode("utf-8", "replace")
    expected = json.loads(body)["message"]
    deltas = reply(Wire(chat=body))
    assert "".join(d.text for d in deltas if isinstance(d, Text)) == expected["content"]
    assert "".join(d.text for d in deltas if isinstance(d, Thinking)) == expected["thinking"]
    assert [json.loads(d.arguments) for d in deltas if isinstance(d, ToolCall)] == [
        expected["tool_calls"][0]["function"]["arguments"]
    ]


def test_missing_usage_is_unknown_and_not_zero() -> None:
    assert reply(Wire(chat=b'{"done":true,"done_reason":"load","eval_count":"many"}')) == [Usage(finish="load")]


# ---- a request ----


def test_a_request_fixes_the_window_and_forbids_cutting() -> None:
    wire = Wire(chat=ANSWER)
    backend = Ollama("qwen2.5:7b", server(wire, keep_alive="1h"), room=9000)
    list(backend.stream([SYSTEM, USER], [TOOL], max_tokens=300))
    assert wire.sent() == {
        "model": "qwen2.5:7b",
        "messages": [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "What holds 2 ml?"}],
        "stream": True,
        "options": {"num_ctx": 16_384, "num_predict": 300},
        "keep_alive": "1h",
        "truncate": False,
        "tools": [TOOL],
    }


def test_calls_go_back_as_objects_with_thinking_and_results_with_ids() -> None:
    wire = Wire(chat=ANSWER)
    call = ToolCall("c1", "list_articles", '{"page": 2}')
    turn = Message("a", "assistant", "I look.", thinking="Where?", calls=(call,))
    reply(wire, [SYSTEM, USER, turn, Message("t", "tool", "16 articles", call_id="c1", name="list_articles")])
    function = {"name": "list_articles", "arguments": {"page": 2}}
    assert wire.sent()["messages"][2:] == [
        {
            "role": "assistant",
            "content": "I look.",
            "thinking": "Where?",
            "tool_calls": [{"id": "c1", "function": function}],
        },
        {"role": "tool", "content": "16 articles", "tool_name": "list_articles", "tool_call_id": "c1"},
    ]
