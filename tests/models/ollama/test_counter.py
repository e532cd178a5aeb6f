"""Counts with an Ollama that tells a vocabulary and renders prompts: a session with a real one, told again."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.models.counting.test_byte_pairs import facts, vocabulary
from tests.support.ollama_wire import Wire
from thimble.agent.errors import ModelError
from thimble.agent.messages import Message, Schema, ToolCall
from thimble.models.counting.vocabulary import counter_for
from thimble.models.ollama.backend import Ollama
from thimble.models.ollama.counter import OllamaCounter
from thimble.models.ollama.server import OllamaServer

SESSION: Any = json.loads(Path(__file__).with_name("session_of_tiny.json").read_text("utf-8"))
TOOLS: list[Schema] = SESSION["tools"]
HISTORY = [
    Message(**{**message, "calls": tuple(ToolCall(**call) for call in message["calls"])})
    for message in SESSION["messages"]
]
SYSTEM, USER = HISTORY[:2]


def ordered(arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Arguments as the server writes them: an object inside of them by the order of its keys."""
    return {
        key: {name: value[name] for name in sorted(value)} if isinstance(value, dict) else value
        for key, value in arguments.items()
    }


def tiny(messages: Sequence[Mapping[str, Any]], tools: Sequence[Schema]) -> str:
    """The template of the recorded model."""
    system = messages[0]["content"]
    text = f"<|im_start|>system\n{system}"
    if tools:
        schemas = "".join("\n" + json.dumps(tool, ensure_ascii=False) for tool in tools)
        text += (
            "\n\n" if system else ""
        ) + f"Tools, one a line:\n<tools>{schemas}\n</tools>\nCall one so:\n<tool_call>"
        text += '\n{"name": NAME, "arguments": OBJECT}\n</tool_call>'
    text = text + "<|im_end|>\n" if system or tools else ""
    before = ""
    for at, message in enumerate(messages[1:], 2):
        if message["role"] == "tool":
            text += "\n" if before == "tool" else "<|im_start|>user\n"
            text += f"<tool_response>\n{message['content']}\n</tool_response>"
            text += "" if at < len(messages) and messages[at]["role"] == "tool" else "<|im_end|>\n"
        else:
            parts = [message["content"].strip()] if message["content"].strip() else []
            for call in message.get("tool_calls", ()):
                arguments = json.dumps(ordered(call["function"]["arguments"]), ensure_ascii=False)
                name = call["function"]["name"]
                parts.append(f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>')
            text += f"<|im_start|>{message['role']}\n" + "\n".join(parts) + "<|im_end|>\n"
        before = message["role"]
    return text + "<|im_start|>assistant\n"


class Server(Wire):
    """An Ollama with this model. `loaded`: its context, 0 if it is not; `renders`: whether it knows the field."""

    def __init__(self, *, loaded: int = 8192, renders: bool = True, told: Mapping[str, Any] | None = None) -> None:
        self.loaded, self.failing, vocabulary = loaded, False, facts() if told is None else told
        named = {"name": "tiny:latest", "model": "tiny:latest"}

        def ps(_: Any) -> bytes:
            return json.dumps({"models": [{**named, "context_length": self.loaded}] * bool(self.loaded)}).encode()

        def show(body: Any) -> bytes:
            info = {**(vocabulary if body.get("verbose") else {}), "qwen2.context_length": 8192}
            return json.dumps({"model_info": info, "capabilities": ["completion", "tools"]}).encode()

        def chat(body: Any) -> bytes:
            line = {"model": "tiny", "message": {"role": "", "content": ""}, "done": not renders}
            rendered = {"rendered_template": tiny(body["messages"], body.get("tools", ()))}
            return json.dumps(line | ({"_debug_info": rendered} if renders else {})).encode()

        tags = json.dumps({"models": [{**named, "digest": ""}]}).encode()
        super().__init__(version=b'{"version":"0.33.0-rc2"}', tags=tags, ps=ps, show=show, chat=chat)

    def answer(self, request: httpx.Request) -> httpx.Response:
        """Nothing while it is `failing`."""
        if self.failing:
            self.requests.append(("", None))
            raise httpx.ConnectError("refused")
        return super().answer(request)

    def chats(self) -> list[Any]:
        """The bodies of the requests for a prompt."""
        return [body for path, body in self.requests if path == "/api/chat"]


def backend(server: Server) -> Ollama:
    return Ollama("tiny", OllamaServer(transport=server, sleep=lambda _: None))


def counter(server: Server) -> OllamaCounter:
    made = backend(server).counter
    assert isinstance(made, OllamaCounter)
    return made


def size(counts: Any, messages: Sequence[Message], tools: Sequence[Schema] = ()) -> int:
    return int(counts.overhead(tools)) + sum(map(counts.count, messages))


# ---- what a real server read ----


def test_the_template_here_is_the_recorded_one() -> None:
    assert backend(Server()).rendered(HISTORY, TOOLS) == SESSION["rendered"]


@pytest.mark.parametrize("prompt", SESSION["prompts"], ids=str)
def test_each_prompt_of_a_session_has_the_tokens_that_the_server_read(prompt: Any) -> None:
    counts, messages = counter(Server()), HISTORY[: prompt["messages"]]
    assert counts.exact
    assert size(counts, messages, TOOLS if prompt["tools"] else []) == prompt["prompt_eval_count"]


# ---- laws ----

contents = st.text(st.characters(codec="utf-8")) | st.sampled_from(
    ["words of a text", " blank ", "<think>x</think>", "<|im_end|>", "\n"]
)
rounds = st.lists(st.tuples(contents, contents, st.lists(contents, min_size=1, max_size=3), contents), max_size=3)


@pytest.mark.nightly
@given(contents, rounds, contents)
def test_the_parts_of_a_prompt_add_up_to_the_prompt(system: str, turns: Any, last: str) -> None:
    """Where the system message ends with a full stop, since this template writes the tools directly behind it."""
    messages = [Message("s", "system", f"{system}x.")]
    for number, (asked, said, results, answer) in enumerate(turns):
        calls = tuple(ToolCall(f"c{number}{at}", "f", json.dumps({"a": one})) for at, one in enumerate(results))
        messages += [Message("u", "user", asked), Message("a", "assistant", said, calls=calls)]
        messages += [
            Message("t", "tool", one, call_id=call.id, name="f") for one, call in zip(results, calls, strict=True)
        ]
        messages.append(Message("b", "assistant", answer))
    messages.append(Message("u", "user", last))
    model = backend(Server())
    prompt = model.rendered(messages, TOOLS)
    assert prompt
    assert size(model.counter, messages, TOOLS) == vocabulary().tokens(prompt)


# ---- never in the way ----


def test_counting_loads_no_model_and_changes_nothing_of_a_loaded_one() -> None:
    server = Server(loaded=0)
    counts = counter(server)
    assert size(counts, HISTORY) > 0
    assert not server.chats()
    assert not counts.exact
    server.loaded = 4096
    assert counts.calibrate(100, 101)
    assert counts.exact
    assert {chat["options"]["num_ctx"] for chat in server.chats()} == {4096}


def test_a_session_is_exact_from_its_second_prompt_on() -> None:
    server = Server(loaded=0)
    counts = counter(server)
    guess = size(counts, HISTORY[:2], TOOLS)
    server.loaded = 8192
    before = counts.learnt
    assert counts.calibrate(guess, SESSION["prompts"][0]["prompt_eval_count"])
    assert counts.learnt != before, "sizes that were remembered are counted anew"
    assert size(counts, HISTORY[:4], TOOLS) == SESSION["prompts"][2]["prompt_eval_count"]


def test_a_server_that_does_not_render_is_tried_once() -> None:
    server = Server(renders=False)
    counts = counter(server)
    guess = size(counts, HISTORY[:2], TOOLS)
    assert not counts.exact
    assert counts.calibrate(guess, guess + 20)
    assert size(counts, HISTORY[:2], TOOLS) == pytest.approx(guess + 20, abs=2)
    assert len(server.chats()) == 1
    assert server.chats()[0]["options"]["num_predict"] == 1, "a server that takes it for a question says one word"


@pytest.mark.parametrize("told", [{}, {"tokenizer.ggml.model": "llama"}])
def test_without_a_vocabulary_counts_are_what_they_are_without_a_server(told: dict[str, Any]) -> None:
    server = Server(told=told)
    counts, without = counter(server), counter_for("tiny")
    assert size(counts, HISTORY, TOOLS) == size(without, HISTORY, TOOLS)
    assert counts.exact is without.exact
    assert not server.chats()


def test_a_server_that_is_away_is_asked_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr("thimble.models.counting.prompt_counter.monotonic", lambda: now[0])
    server = Server()
    counts = counter(server)
    server.failing = True
    with pytest.raises(ModelError):
        backend(server).rendered(HISTORY, TOOLS)
    assert size(counts, HISTORY) > 0
    asked = len(server.requests)
    assert size(counts, HISTORY) > 0
    assert len(server.requests) == asked
    server.failing, now[0] = False, 111.0
    assert counts.exact
    assert size(counts, HISTORY, TOOLS) == SESSION["prompts"][-2]["prompt_eval_count"]


# ---- checked by every reply ----


def test_a_difference_is_said_once_and_counts_are_estimates_then() -> None:
    counts = counter(Server())
    counted = size(counts, HISTORY, TOOLS)
    assert counts.calibrate(counted, counted)
    assert (counts.exact, counts.doubt()) == (True, "")
    assert counts.calibrate(counted, counted + 100)
    assert not counts.exact
    assert f"{counted + 100:,}" in counts.doubt()
    assert counts.doubt() == ""
    assert size(counts, HISTORY, TOOLS) == pytest.approx(counted + 100, abs=20)
    assert counts.calibrate(counted, counted + 200)
    assert counts.doubt() == ""


def test_a_cut_prompt_is_not_a_difference_and_the_calibration_is_restored() -> None:
    one, other = counter(Server()), counter(Server())
    counted = size(one, HISTORY)
    assert not one.calibrate(counted, counted // 2)
    assert one.exact
    one.calibrate(counted, counted + 100)
    other.learnt = json.loads(json.dumps(one.learnt))
    assert size(other, HISTORY) == size(one, HISTORY)
    assert not other.exact
