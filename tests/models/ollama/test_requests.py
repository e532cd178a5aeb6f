"""What bites the clients of Ollama, in what they send: a test for each row."""

from __future__ import annotations

import pytest

from tests.support.asking import LONG, SYSTEM, THINKER, USER, ask, backend, said, usage
from tests.support.ollama_server import Model, Ollama, Reply
from thimble.agent.messages import Message
from thimble.agent.protocols import Thinking, Waiting
from thimble.models import checks
from thimble.models.ollama.server import OllamaServer
from thimble.models.server import TooLong, ToolsRefused

# ---- default context; num_ctx ----


def test_num_ctx_is_sent_with_every_request_and_verified_against_ps(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    model = backend(url, room=20_000)
    for _ in range(3):
        ask(model)
    assert {body["options"]["num_ctx"] for body in server.sent()} == {32_768}
    assert model.check() == ""
    server.memory["qwen2.5:7b"].context = 4096
    assert "loaded with a context of 4,096 tokens, not the 32,768 asked for" in model.check()


def test_no_more_context_is_asked_for_than_the_model_has(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    server.models["small:latest"] = Model(context=4_096)
    model = backend(url, "small")
    ask(model)
    assert server.sent()[0]["options"]["num_ctx"] == 4_096
    assert model.check() == (
        "small holds 4,096 tokens of prompt and reply, and this budget wants up to 12,288: /budget 2048"
    )


def test_num_ctx_never_changes_so_that_the_model_is_loaded_once(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    model = backend(url)
    ask(model)
    ask(model, SYSTEM, USER, Message("a", "assistant", "A thimble."), Message("v", "user", "Sure? " * 300))
    assert model.with_room(9_000) is model
    ask(model.with_room(12_000), tools=(), most=50)
    assert server.loads == [16_384]
    larger = model.with_room(40_000)
    larger_context = [body["options"]["num_ctx"] for body in server.sent()]
    assert (larger.room, set(larger_context)) == (49_152, {16_384})


# ---- neighbours ----


def test_a_context_that_is_loaded_and_large_enough_is_used_so_that_nobody_waits_for_a_load(
    ollama: tuple[Ollama, str],
) -> None:
    server, url = ollama
    for loaded, needed in ((32_768, 9_000), (12_000, 12_000), (12_000, 16_000)):
        server.memory.clear()
        server.loads.clear()
        load(url, loaded)
        model = backend(url, room=needed)
        assert not [delta for delta in ask(model) if isinstance(delta, Waiting)]
        assert model.with_room(needed) is model
        assert (server.loads, model.context, model.check()) == ([loaded], loaded, "")


def test_a_context_that_is_too_small_is_not_used(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    load(url, 12_000)
    model = backend(url, room=9_000)
    ask(model)
    larger = model.with_room(17_000)
    assert larger is not model
    assert [delta for delta in ask(larger) if isinstance(delta, Waiting)]
    assert server.loads == [12_000, 32_768]


def load(url: str, context: int) -> None:
    """What another client does that wants another context."""
    body = {"model": "qwen2.5:7b", "messages": [], "options": {"num_ctx": context}, "keep_alive": -1}
    server = OllamaServer(url)
    list(server.stream("/api/chat", body, server.allowance(), "qwen2.5:7b"))


# ---- truncate and shift ----


def test_truncate_is_off_and_shift_is_left_out(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    with pytest.raises(TooLong) as caught:
        ask(backend(url), SYSTEM, LONG)
    assert caught.value.what.startswith("the prompt ")
    assert "--budget" in caught.value.fix
    assert [(body["truncate"], body.get("shift")) for body in server.sent()] == [(False, None)]


# ---- the hidden prompt ----


def test_the_hidden_system_prompt_of_a_modelfile_stays_out(ollama: tuple[Ollama, str]) -> None:
    """A request that has no system message of its own, such as one for a summary, gets an empty one."""
    server, url = ollama
    model = backend(url)
    plain = usage(ask(model, USER, tools=())).prompt_tokens
    server.models["qwen2.5:7b"].system = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
    assert usage(ask(model, USER, tools=())).prompt_tokens == plain
    assert [message["role"] for message in server.sent()[-1]["messages"]] == ["system", "user"]
    ask(model, SYSTEM, USER)
    assert [message["role"] for message in server.sent()[-1]["messages"]] == ["system", "user"]


def test_the_messages_of_a_modelfile_are_told_by_the_doctor(ollama: tuple[Ollama, str]) -> None:
    """Nothing keeps the server from putting them before every prompt."""
    server, url = ollama
    server.models["qwen2.5:7b"].examples = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Ho"}]
    (found,) = [check for check in checks(OllamaServer(url), "") if check.name == "prompt"]
    assert (found.state, found.fix) == ("warn", "see them: ollama show --modelfile qwen2.5:7b")
    assert "2 messages" in found.found


# ---- thinking ----


@pytest.mark.parametrize(("how", "sent", "thinks"), [("on", True, True), ("off", False, False), ("high", True, True)])
def test_think_is_always_set_for_a_model_that_can(
    how: str, sent: object, thinks: bool, ollama: tuple[Ollama, str]
) -> None:
    server, url = ollama
    server.models["qwen3:8b"] = THINKER
    deltas = ask(backend(url, "qwen3:8b", think=how), tools=())
    assert server.sent()[0]["think"] is sent
    assert (said(deltas, Thinking) != "") is thinks
    assert said(deltas) == "A thimble holds 2 ml."


def test_thinking_eats_num_predict_and_gets_room_of_its_own(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    server.models["qwen3:8b"] = THINKER
    server.replies = [Reply("Two.", "hm ha " * 1_500), Reply("Two.", "hm ha " * 4_500)]
    model = backend(url, "qwen3:8b")
    deltas = ask(model)
    assert (said(deltas), usage(deltas).finish) == ("Two.", "stop"), (
        "3,000 tokens of thinking fit beside a reply of 400"
    )
    deltas = ask(model)
    assert (said(deltas), usage(deltas).finish) == ("", "length"), "the loop tells this as an answer that was thought"
    assert usage(deltas).output_tokens == 4_496


def test_think_off_may_reason_inline_and_that_is_thinking_too(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    server.models["qwen3:8b"] = Model(("completion", "tools", "thinking"), family="qwen3", inline=True)
    server.replies = [Reply("Two.", "Is it two or three?")]
    deltas = ask(backend(url, "qwen3:8b", think="off"))
    assert (said(deltas, Thinking).strip(), said(deltas)) == ("Is it two or three?", "Two.")


# ---- tools ----


def test_of_a_server_that_does_not_tell_nothing_is_known_about_tools() -> None:
    assert backend("http://127.0.0.1:9").tools is None


def test_tools_for_a_model_that_takes_none_are_refused_before_anything_is_said(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    server.models["phi:latest"] = Model(("completion",))
    with pytest.raises(ToolsRefused, match="cannot call tools") as caught:
        ask(backend(url, "phi"))
    assert "--model" in caught.value.fix
