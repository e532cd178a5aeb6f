from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.openai_wire import ANSWER, CALLED, CHAT, RESULT, SYSTEM, TOKENIZE, TOOL, URL, USER, Wire, backend
from thimble.agent.errors import ModelError
from thimble.agent.messages import Message, ToolCall
from thimble.models.counting.vocabulary import counter_for
from thimble.models.openai.connection import Connection
from thimble.models.openai.counter import ServerCounter

Template = Callable[[list[dict[str, Any]], list[Any], bool], str]


class TemplateError(Exception):
    pass


def pieces(text: str) -> list[str]:
    """A tokenizer: special tokens, words with the blank before them, single characters."""
    return re.findall(r"<\|?\w+\|?>|\[/?\w+\]| ?\w{1,5}|\s+|.", text)


def called(message: dict[str, Any]) -> list[tuple[str, str, str]]:
    calls = message.get("tool_calls", ())
    return [(call["id"], call["function"]["name"], call["function"]["arguments"]) for call in calls]


def chatml(messages: list[dict[str, Any]], tools: list[Any], generate: bool) -> str:
    """As Qwen writes it: results that follow each other share the markers of a user message."""
    listed = "\n\n# Tools\n" + "\n".join(map(json.dumps, tools)) + "\nCall them." if tools else ""
    text, before = "", ""
    for at, message in enumerate(messages):
        content = message["content"] + (listed if message["role"] == "system" else "")
        content += "".join(
            f'\n<tool_call>\n{{"name": "{name}", "arguments": {json.dumps(json.loads(arguments))}}}\n</tool_call>'
            for _, name, arguments in called(message)
        )
        last = at + 1 == len(messages) or messages[at + 1]["role"] != "tool"
        if message["role"] == "tool":
            text += "" if before == "tool" else "<|im_start|>user"
            text += f"\n<tool_response>\n{content}\n</tool_response>" + ("<|im_end|>\n" if last else "")
        else:
            text += f"<|im_start|>{message['role']}\n{content}<|im_end|>\n"
        before = message["role"]
    return text + ("<|im_start|>assistant\n" if generate else "")


def strict(messages: list[dict[str, Any]], tools: list[Any], generate: bool) -> str:
    """As Mistral writes it: the two sides in turn, ids of nine letters, a result of each call."""
    sides = [
        message["role"]
        for message in messages
        if message["role"] in ("user", "assistant")
        if not message.get("tool_calls")
    ]
    if any(side != ("user", "assistant")[at % 2] for at, side in enumerate(sides)):
        raise TemplateError("roles must alternate")
    text = "<|s|>" + (f"[TOOLS]{json.dumps(tools)}[/TOOLS]" if tools else "")
    for message in messages:
        match message["role"]:
            case "system":
                text += f"[SYSTEM]{message['content']}[/SYSTEM]"
            case "user":
                text += f"[INST]{message['content']}[/INST]"
            case "tool":
                text += f"[RESULT]{message['tool_call_id']}[CONTENT]{message['content']}[/RESULT]"
            case _:
                calls = "".join(f"[CALL]{call_id}{name}{arguments}" for call_id, name, arguments in called(message))
                text += f"{message['content']}{calls}<|/s|>"
    return text


def count(template: Template, body: dict[str, Any]) -> int:
    return len(pieces(template(body["messages"], body.get("tools", []), body.get("add_generation_prompt", True))))


def vllm(template: Template) -> Wire:
    """vLLM's /tokenize, with this template."""

    def tokenize(body: dict[str, Any]) -> Any:
        size = len(pieces(body["prompt"])) if "prompt" in body else count(template, body)
        return json.dumps({"count": size, "max_model_len": 8192, "tokens": [*range(size)]}).encode()

    return Wire({TOKENIZE: or_refused(400, tokenize), CHAT: ANSWER})


def llama(template: Template) -> Wire:
    """llama-server's /apply-template and /tokenize, with this template."""

    def apply(body: dict[str, Any]) -> Any:
        return json.dumps({"prompt": template(body["messages"], body.get("tools", []), True)}).encode()

    def tokenize(body: dict[str, Any]) -> Any:
        return json.dumps({"tokens": [7] * len(pieces(body.get("content", "")))}).encode()

    return Wire({TOKENIZE: tokenize, "/apply-template": or_refused(500, apply), CHAT: ANSWER})


def or_refused(status: int, answer: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The answer, or an error if the template takes no such messages."""

    def answered(body: Any) -> Any:
        try:
            return answer(body)
        except TemplateError as error:
            return status, json.dumps({"error": {"message": str(error), "code": status}}).encode()

    return answered


def counter(wire: Wire, **thinking: Any) -> ServerCounter:
    return ServerCounter(Connection(URL, wire), "tiny", thinking)


def total(counts: ServerCounter, messages: Sequence[Message], tools: Sequence[Any]) -> int:
    return counts.overhead(tools) + sum(map(counts.count, messages))


@lru_cache
def counter_at(server: Callable[[Template], Wire], template: Template) -> ServerCounter:
    """One for all examples: what it remembers must not mislead it."""
    return counter(server(template))


WORDS = st.text("abc é.\n{}<>|", max_size=60)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """A system message and a few exchanges; the last may wait for its answer."""
    messages = [Message("s", "system", draw(WORDS))]
    number = 0
    for exchange in range(draw(st.integers(1, 3))):
        messages.append(Message(f"u{exchange}", "user", draw(WORDS)))
        for turn in range(draw(st.integers(0, 3))):
            names = draw(st.lists(st.sampled_from(["list_articles", "read", "f"]), min_size=1, max_size=3))
            calls = tuple(
                ToolCall(f"call{number + at:05d}", name, draw(st.sampled_from(["{}", '{"slug": "a-b"}', "{slug", ""])))
                for at, name in enumerate(names)
            )
            number += len(names)
            messages.append(Message(f"a{exchange}{turn}", "assistant", draw(WORDS), calls=calls))
            messages += [Message(f"t{call.id}", "tool", draw(WORDS), call_id=call.id, name=call.name) for call in calls]
        messages.append(Message(f"e{exchange}", "assistant", draw(WORDS)))
    return messages[:-1]


@pytest.mark.parametrize("server", [vllm, llama])
@pytest.mark.parametrize("template", [strict, chatml])
@given(messages=conversations(), tools=st.sampled_from([[], [TOOL]]))
def test_counts_add_up_to_the_prompt(
    server: Callable[[Template], Wire], template: Template, messages: list[Message], tools: list[Any]
) -> None:
    counts = counter_at(server, template)
    whole = counts.count_prompt(messages, tools)
    assert counts.exact
    assert whole
    assert abs(total(counts, messages, tools) - whole) <= max(3, 0.02 * whole)


def test_a_new_message_is_one_question_and_an_old_one_none() -> None:
    wire = vllm(chatml)
    counts = counter(wire)
    total(counts, [SYSTEM, USER, CALLED, RESULT], [TOOL])
    before = wire.asked(TOKENIZE)
    for content in ("one", "two", "two"):
        counts.count(Message("t", "tool", content, call_id="x", name="list_articles"))
    total(counts, [SYSTEM, USER, CALLED, RESULT], [TOOL])
    assert wire.asked(TOKENIZE) - before == 2


def test_the_same_messages_tools_and_thinking_are_counted_as_are_sent() -> None:
    wire = vllm(chatml)
    counts = counter(wire, chat_template_kwargs={"enable_thinking": False})
    counts.count_prompt([SYSTEM, USER, CALLED, RESULT], [TOOL])
    counted = wire.sent(TOKENIZE)
    list(backend(wire, think="off").stream([SYSTEM, USER, CALLED, RESULT], [TOOL]))
    for part in ("model", "messages", "tools", "chat_template_kwargs"):
        assert counted[part] == wire.sent()[part]
    assert counted["add_generation_prompt"] is True
    counter(wire, reasoning_effort="low").count_prompt([USER], [])
    assert wire.sent(TOKENIZE)["chat_template_kwargs"] == {"reasoning_effort": "low", "enable_thinking": True}


def test_a_message_that_the_template_refuses_costs_its_text_and_markers() -> None:
    def one_call(messages: list[dict[str, Any]], tools: list[Any], generate: bool) -> str:
        if any(len(message.get("tool_calls", ())) > 1 for message in messages):
            raise TemplateError("This model only supports single tool-calls at once!")
        return chatml(messages, tools, generate)

    counts = counter(vllm(one_call))
    twice = Message("a", "assistant", "I look.", calls=(ToolCall("x", "f"), ToolCall("y", "g")))
    exact = counter(vllm(chatml)).count(twice)
    assert counts.exact
    assert abs(counts.count(twice) - exact) <= 30


@pytest.mark.parametrize(
    "routes",
    [
        {},
        {TOKENIZE: b'{"error":"Unexpected endpoint or method. (POST /tokenize)"}'},
        {TOKENIZE: (401, b"{}")},
        {TOKENIZE: b'{"tokens":[]}'},
        {TOKENIZE: b'{"tokens":[]}', "/apply-template": b'{"prompt":7}'},
        {TOKENIZE: b'{"count":-1}'},
        {TOKENIZE: b'{"count":true}'},
        {TOKENIZE: (400, b'{"error":{"message":"System role not supported"}}')},
    ],
)
def test_an_estimate_counts_if_the_server_cannot(routes: dict[str, Any]) -> None:
    wire = Wire(routes)
    counts, estimate = counter(wire), counter_for("tiny")
    assert not counts.exact
    assert counts.count(USER) == estimate.count(USER)
    assert counts.overhead([TOOL]) == estimate.overhead([TOOL])
    asked = len(wire.requests)
    counts.count(RESULT)
    assert len(wire.requests) == asked
    assert counts.calibrate(100, 120)
    assert counts.count(RESULT) != estimate.count(RESULT)


@pytest.mark.parametrize("failing", [httpx.ConnectError("refused"), httpx.ReadTimeout(""), (503, b""), b"<html>"])
def test_a_server_that_fails_later_is_left_alone_for_a_while(failing: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wire, now = vllm(chatml), [0.0]
    monkeypatch.setattr("thimble.models.counting.prompt_counter.monotonic", lambda: now[0])
    counts, estimate = counter(wire), counter_for("tiny")
    known = counts.count(USER)
    working, wire.routes[TOKENIZE] = wire.routes[TOKENIZE], failing
    assert counts.count(RESULT) == estimate.count(RESULT)
    assert not counts.exact
    asked = wire.asked(TOKENIZE)
    counts.count(CALLED)
    assert wire.asked(TOKENIZE) == asked
    wire.routes[TOKENIZE] = working
    now[0] = 11.0
    assert counts.exact
    assert counts.count(USER) == known
    assert counts.count(RESULT) != estimate.count(RESULT)


# ---- the prompt as the model reads it ----


def test_the_prompt_is_told_by_llama_server_and_by_vllm_from_its_tokens() -> None:
    chat = (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nWhat holds 2 ml?<|im_end|>\n<|im_start|>assistant\n"
    )
    assert backend(llama(chatml)).rendered([SYSTEM, USER], []) == chat
    wire = vllm(chatml)
    wire.routes["/detokenize"] = b'{"prompt":"<|im_start|>system"}'
    assert backend(wire).rendered([SYSTEM, USER], [TOOL]) == "<|im_start|>system"
    assert len(wire.requests[-1][1]["tokens"]) == counter(wire).count_prompt([SYSTEM, USER], [TOOL])


# ---- room for the reply ----


def test_a_reply_is_asked_for_that_fits_behind_the_prompt() -> None:
    wire = vllm(chatml)
    whole = counter(wire).count_prompt([SYSTEM, USER], [])
    assert whole
    estimated = Wire({CHAT: ANSWER})
    for served, context, expected in (
        *((wire, whole + room, min(room, 500)) for room in (7_000, 200, 1)),
        *((estimated, 10, 1), (estimated, None, 500)),  # by an estimate the server may decide
    ):
        list(backend(served, context=context).stream([SYSTEM, USER], [], max_tokens=500))
        assert served.sent()["max_tokens"] == expected


def test_a_prompt_without_room_for_a_reply_is_not_sent() -> None:
    wire = vllm(chatml)
    whole = counter(wire).count_prompt([SYSTEM, USER], [])
    for max_tokens in (500, None):
        with pytest.raises(ModelError, match=f"the prompt of {whole} tokens leaves no room for a reply") as caught:
            list(backend(wire, context=whole).stream([SYSTEM, USER], [], max_tokens=max_tokens))
        assert "--budget" in caught.value.fix
    assert not wire.asked(CHAT)
