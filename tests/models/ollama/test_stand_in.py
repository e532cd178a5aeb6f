"""The small Ollama of the tests beside a real one: to the same request, the same fields, kinds and words."""

from __future__ import annotations

import re
from itertools import groupby
from typing import Any

import pytest

from tests.support.ollama_http import served
from tests.support.ollama_recorded import NAMES, Exchange, answered, exchange
from tests.support.ollama_server import Model, Ollama, Reply

ELSEWHERE = {"v1-chat", "v1-models"}
"""Of another protocol, which tests/support/openai_wire.py speaks."""
LOADED = {"ps-loaded": "load"}
SMOL = {"stop": '"<|im_start|>"'}
SAME = ("error", "done", "done_reason", "version", "name", "model", "system", "messages", "capabilities")


def beside(name: str) -> Ollama:
    """A small Ollama with the models of the real one, that will say what it said."""
    recorded = exchange(name)
    lines = recorded.lines if recorded.path == "/api/chat" and recorded.status == 200 else []
    text, thinking = said(recorded) if lines else ("", "")
    messages = [line.get("message", {}) for line in lines]
    calls = [call["function"] for message in messages for call in message.get("tool_calls", ())]
    if any(line.get("done_reason") == "length" for line in lines):
        text += " and so on" * 100
    reply = Reply(
        text,
        thinking,
        [(call["name"], call["arguments"]) for call in calls],
        error=next((line["error"] for line in lines if "error" in line), ""),
        lost=name == "chat-server-killed",
    )
    ahoy = ({"role": "user", "content": "Ahoy"}, {"role": "assistant", "content": "Arr"})
    return Ollama(
        {
            "pirate:latest": Model(
                context=8_192,
                family="llama",
                system="You are a pirate.",
                examples=ahoy,
                parameters={"num_ctx": 2_048, **SMOL},
            ),
            "smol:latest": Model(("completion",), 8_192, "llama", parameters=SMOL),
            "smolt:latest": Model(context=8_192, family="llama"),
            "thinker:latest": Model(("completion", "thinking"), 8_192, "llama", parameters=SMOL),
            "tiny:latest": Model(("tools", "completion"), 8_192, own_template=True, merges=("s t",)),
        },
        version="0.33.0-rc2",
        counts_cached=False,
        busy=int(name == "error-busy"),
        replies=[reply],
    )


def of_both(name: str) -> tuple[Exchange, Exchange]:
    """The exchange with the real one, and the same with the small one."""
    recorded = exchange(name)
    with served(beside(name)) as (server, url):
        if name == "tags":
            del server.models["smolt:latest"]  # made later
        if name in LOADED:
            before = exchange(LOADED[name])
            answered(before.method, before.path, before.sent, url=url)
        return recorded, answered(recorded.method, recorded.path, recorded.sent, url=url)


def kind(value: Any) -> Any:
    """The fields of a value, in their order, and the kinds of what is in them."""
    if isinstance(value, dict):
        return [(key, kind(each)) for key, each in value.items()]
    if isinstance(value, list):
        return [kind(each) for each in value[:1]]
    return type(value).__name__


def kinds(lines: list[Any]) -> list[Any]:
    """Those of lines, lines alike in a row as one. A model's facts are left out: they depend on its file."""
    return [each for each, _ in groupby(kind({**line, "model_info": {}}) for line in lines)]


def told(value: Any) -> Any:
    """The values in an answer that are not the server's own business, as (key, value)."""
    if isinstance(value, list):
        return [each for one in value for each in told(one)]
    if not isinstance(value, dict):
        return []
    here = [(key, sorted(value[key]) if key == "capabilities" else value[key]) for key in SAME if key in value]
    return here + [each for key, one in value.items() if key != "tensors" for each in told(one)]


def said(reply: Exchange) -> list[str]:
    """The whole content and thinking of a reply."""
    messages = [line.get("message", {}) for line in reply.lines]
    return ["".join(message.get(key, "") for message in messages) for key in ("content", "thinking")]


def uncounted(text: str) -> str:
    """An error without the number of tokens that the prompt has: the small one counts words."""
    return re.sub(r"\b30\d\d\b", "N", text)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in ELSEWHERE])
def test_the_same_request_has_the_same_fields_kinds_and_words(name: str) -> None:
    real, small = of_both(name)
    assert (small.status, small.headers["content-type"]) == (real.status, real.headers["content-type"])
    assert ("content-length" in small.headers) == ("content-length" in real.headers)
    if real.status != 200:
        assert uncounted(small.body.decode()) == uncounted(real.body.decode())
        return
    assert kinds(small.lines) == kinds(real.lines)
    ends = [(real.lines[-1], small.lines[-1]), (real.lines[0], small.lines[0])]
    assert all(told(theirs) == told(ours) for theirs, ours in ends)


@pytest.mark.parametrize("name", [name for name in NAMES if exchange(name).path == "/api/chat"])
def test_a_reply_ends_the_same_way(name: str) -> None:
    real, small = of_both(name)
    if not real.done or real.done["done_reason"] != "length":
        assert said(small) == said(real)
    if real.done and "prompt_eval_count" in real.done:
        near = 0 if name == "cut-in-silence-one-message" else 0.03 if real.done["prompt_eval_count"] > 1_000 else 0.3
        if real.asked["model"] != "tiny":  # whose words are long ones
            assert small.done["prompt_eval_count"] == pytest.approx(real.done["prompt_eval_count"], rel=near)


def test_the_prompt_is_rendered_alike() -> None:
    for name in ("chat-render-only", "chat-render-only-tools"):
        real, small = of_both(name)
        assert small.lines[0]["_debug_info"] == real.lines[0]["_debug_info"]
