"""What bites the clients of Ollama, against the small one: a test for each row."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from tests.support.both_servers import said
from tests.support.ollama_server import Model, Ollama, Reply, served
from tests.support.ollama_wire import ANSWER, Wire
from tests.support.ollama_wire import model as behind
from tests.support.openai_wire import SYSTEM, TOOL, USER
from thimble.agent.messages import Message, ToolCall
from thimble.agent.protocols import Delta, Thinking, Usage, Waiting
from thimble.models import checks
from thimble.models.ollama.backend import Ollama as Backend
from thimble.models.ollama.server import OllamaServer
from thimble.models.server import Check, ServerOptions, TooLong, ToolsRefused

THINKER = Model(("completion", "tools", "thinking"), family="qwen3")
GROWN = (SYSTEM, USER, Message("a", "assistant", "A thimble."), Message("v", "user", "Sure? " * 300))


@pytest.fixture
def ollama() -> Iterator[tuple[Ollama, str]]:
    with served(Ollama({"qwen2.5:7b": Model(), "qwen3:8b": THINKER})) as each:
        yield each


def backend(url: str, model: str = "qwen2.5:7b", room: int = 16_384, sleep: Any = None, **options: Any) -> Backend:
    return Backend(model, OllamaServer(url, ServerOptions(**options), sleep=sleep or time.sleep), room=room)


def ask(model: Backend, *messages: Message, tools: Sequence[Any] = (TOOL,), most: int | None = 400) -> list[Delta]:
    return list(model.stream(messages or (SYSTEM, USER), tools, max_tokens=most))


def waits(deltas: Sequence[Delta]) -> list[Waiting]:
    return [delta for delta in deltas if isinstance(delta, Waiting)]


def usage(deltas: Sequence[Delta]) -> Usage:
    assert isinstance(deltas[-1], Usage)
    return deltas[-1]


# ---- the context: num_ctx, loading, neighbours ----


def test_num_ctx_is_sent_with_every_request_and_verified_against_ps(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    model = backend(url, room=20_000)
    assert [[wait.what for wait in waits(ask(model))] for _ in range(3)] == [["loading qwen2.5:7b"], [], []]
    assert {body["options"]["num_ctx"] for body in server.sent()} == {32_768}
    assert len(server.sent("/api/ps")) == 1
    assert model.check() == ""
    server.memory["qwen2.5:7b"].context = 4096
    assert "loaded with a context of 4,096 tokens, not the 32,768 asked for" in model.check()
    assert waits(ask(backend(url, room=40_000))), "with another context it is loaded anew"


def test_no_more_context_is_asked_for_than_the_model_has(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    server.models["small:latest"] = Model(context=4_096)
    model = backend(url, "small")
    ask(model)
    assert server.sent()[0]["options"]["num_ctx"] == 4_096
    assert model.check() == (
        "small holds 4,096 tokens of prompt and reply, and this budget needs up to 12,288: /budget 2048"
    )


def test_num_ctx_never_changes_so_that_the_model_is_loaded_once(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    model = backend(url)
    ask(model)
    ask(model, *GROWN)
    assert model.with_room(9_000) is model
    ask(model.with_room(12_000), tools=(), most=50)
    assert server.loads == [16_384]
    assert model.with_room(40_000).room == 49_152
    assert {body["options"]["num_ctx"] for body in server.sent()} == {16_384}


@pytest.mark.parametrize(
    ("loaded", "needed", "larger", "loads"),
    [
        (32_768, 9_000, 9_000, [32_768]),
        (12_000, 12_000, 12_000, [12_000]),
        (12_000, 16_000, 16_000, [12_000]),
        (12_000, 9_000, 17_000, [12_000, 32_768]),
    ],
)
def test_a_context_that_is_loaded_and_large_enough_is_used(
    loaded: int, needed: int, larger: int, loads: list[int], ollama: tuple[Ollama, str]
) -> None:
    """What another client has loaded: so nobody waits for a load."""
    server, url = ollama
    neighbour = OllamaServer(url)
    body = {"model": "qwen2.5:7b", "messages": [], "options": {"num_ctx": loaded}, "keep_alive": -1}
    list(neighbour.stream("/api/chat", body, neighbour.allowance(), "qwen2.5:7b"))
    model = backend(url, room=needed)
    assert not waits(ask(model))
    assert (model.context, model.check()) == (loaded, "")
    grown = model.with_room(larger)
    assert (grown is model) == (len(loads) == 1)
    assert bool(waits(ask(grown))) == (len(loads) > 1)
    assert server.loads == loads


def test_the_seconds_of_loading_are_apart_from_the_rest(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    server.load_seconds = 0.2
    model = backend(url)
    first, again = (usage(ask(model)).load_seconds or 0 for _ in range(2))
    assert first >= 0.2 > 0.1 > again


def test_a_model_that_runs_elsewhere_is_not_said_to_load() -> None:
    show = b'{"capabilities":["completion","tools"],"remote_model":"x","remote_host":"https://ollama.com:443"}'
    assert not waits([*behind(Wire(chat=ANSWER, show=show)).stream([USER], [])])


@pytest.mark.parametrize(("keep_alive", "sent"), [("10m", "10m"), ("-1", -1), ("300", 300), ("0", 0)])
def test_keep_alive_is_a_number_unless_it_has_a_unit(keep_alive: str, sent: object, ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    ask(backend(url, keep_alive=keep_alive))
    assert server.sent()[0]["keep_alive"] == sent


# ---- the prompt ----


def test_truncate_is_off_and_shift_is_left_out(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    with pytest.raises(TooLong) as caught:
        ask(backend(url), SYSTEM, Message("l", "user", "word " * 20_000))
    assert caught.value.what.startswith("the prompt ")
    assert "--budget" in caught.value.fix
    assert [(body["truncate"], body.get("shift")) for body in server.sent()] == [(False, None)]


def test_the_system_prompt_of_a_modelfile_stays_out(ollama: tuple[Ollama, str]) -> None:
    """A request that has no system message of its own, such as one for a summary, gets an empty one."""
    server, url = ollama
    model = backend(url)
    plain = usage(ask(model, USER, tools=())).prompt_tokens
    server.models["qwen2.5:7b"].system = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
    assert usage(ask(model, USER, tools=())).prompt_tokens == plain
    ask(model, SYSTEM, USER)
    assert [[message["role"] for message in body["messages"]] for body in server.sent()] == [["system", "user"]] * 3


def test_cached_tokens_are_a_part_of_the_prompt_and_unknown_on_an_older_server(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    model = backend(url)
    first, again = usage(ask(model)), usage(ask(model, *GROWN))
    assert (first.cached_tokens, first.finish) == (0, "stop")
    assert (again.cached_tokens or 0) >= (first.prompt_tokens or 0) - 3 > 0
    assert (again.prompt_tokens or 0) > (first.prompt_tokens or 0)
    server.counts_cached, server.version = False, "0.15.5"
    assert usage(ask(model)).cached_tokens is None


# ---- the reply ----


@pytest.mark.parametrize("stream", [True, False])
def test_a_reply_is_the_same_streamed_and_whole(stream: bool, ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    server.replies = [Reply("I look twice.", "Hm, two.", [("list_articles", {}), ("list_articles", {"page": 2})])]
    deltas = ask(backend(url, "qwen3:8b", stream=stream))
    assert (said(deltas, Thinking), said(deltas)) == ("Hm, two.", "I look twice.")
    assert [delta.arguments for delta in deltas if isinstance(delta, ToolCall)] == ["{}", '{"page": 2}']
    assert usage(deltas).finish == "stop"


def test_a_full_queue_and_a_lost_connection_are_waited_for(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    server.busy, server.lost, server.retry_after = 1, 1, "3"
    pauses: list[float] = []
    deltas = ask(backend(url, sleep=pauses.append))
    loading, lost, busy = waits(deltas)
    assert loading == Waiting("loading qwen2.5:7b")
    assert lost.what.startswith("the connection was lost: again in 0.")
    assert busy == Waiting("the server is busy: again in 3.0 s", 3.0)
    assert pauses == [lost.seconds, busy.seconds]
    assert said(deltas) == "I look."


@pytest.mark.parametrize(("how", "sent", "thinks"), [("on", True, True), ("off", False, False), ("high", True, True)])
def test_think_is_always_set_for_a_model_that_can(
    how: str, sent: object, thinks: bool, ollama: tuple[Ollama, str]
) -> None:
    server, url = ollama
    deltas = ask(backend(url, "qwen3:8b", think=how), tools=())
    assert server.sent()[0]["think"] is sent
    assert (said(deltas, Thinking) != "") is thinks
    assert said(deltas) == "A thimble holds 2 ml."


def test_thinking_has_room_of_its_own_in_num_predict(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    server.replies = [Reply("Two.", "hm ha " * 1_500), Reply("Two.", "hm ha " * 4_500)]
    model = backend(url, "qwen3:8b")
    fits, cut = ask(model), ask(model)
    assert (said(fits), usage(fits).finish) == ("Two.", "stop")
    assert (said(cut), usage(cut).finish, usage(cut).output_tokens) == ("", "length", 4_496)


def test_tools_are_refused_before_anything_is_said(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    server.models["phi:latest"] = Model(("completion",))
    with pytest.raises(ToolsRefused, match="cannot call tools") as caught:
        ask(backend(url, "phi"))
    assert "--model" in caught.value.fix
    assert backend("http://127.0.0.1:9").tools is None, "nothing is known"


# ---- the doctor ----


def test_the_doctor_tells_of_each_thing(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    assert [*checks(OllamaServer(url), "", 4_000)] == [
        Check(f"{server.version} at {url}"),
        Check("qwen2.5:7b calls tools"),
        Check("room for 16,384 tokens of prompt and reply"),
    ]
    example = {"role": "user", "content": "Hi"}
    server.models = {"phi:latest": Model(("completion", "thinking"), 4_096, examples=[example] * 2)}
    _, prompt, calls, room = checks(OllamaServer(url), "", 4_000)
    assert "2 messages" in prompt.found
    assert prompt.fix == "see them: ollama show --modelfile phi:latest"
    assert calls == Check("phi:latest calls by schema")
    assert room == Check("room for 4,096 tokens of prompt and reply", "--budget 2048")
