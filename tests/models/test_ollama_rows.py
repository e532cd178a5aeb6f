"""What bites the clients of Ollama, a test each, against the small server of tests/ollama_http.py."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from agent.budget import Budget
from agent.errors import ModelError
from agent.events import Prepared, Replied
from agent.ledger import Ledger
from agent.messages import Message, ToolCall
from agent.protocols import Delta, Text, Thinking, Usage, Waiting
from agent.view import measure
from models.address import host_url
from models.ollama import wire
from models.ollama.backend import Ollama as Backend
from models.ollama.server import OllamaServer
from models.server import Manner, ToolsRefused
from models.tokens import EstimateCounter
from tests.models.wire import ANSWER, Wire, model
from tests.ollama_http import TOO_LONG, served
from tests.ollama_server import Model, Ollama, Reply

SYSTEM, USER = Message("s", "system", "Be brief."), Message("u", "user", "What holds 2 ml?")
TOOL = {"type": "function", "function": {"name": "list_articles", "description": "List.", "parameters": {}}}
THINKER = Model(("completion", "tools", "thinking"), family="qwen3")
LONG = Message("l", "user", "word " * 20_000)


@pytest.fixture
def ollama() -> Iterator[tuple[Ollama, str]]:
    with served() as each:
        yield each


def backend(url: str, model: str = "qwen2.5:7b", room: int = 16_384, sleep: Any = None, **manner: Any) -> Backend:
    return Backend(model, OllamaServer(url, Manner(**manner), sleep=sleep or time.sleep), room=room)


def ask(model: Backend, *messages: Message, tools: Sequence[Any] = (TOOL,), most: int | None = 400) -> list[Delta]:
    return list(model.stream(messages or (SYSTEM, USER), tools, max_tokens=most))


def usage(deltas: Sequence[Delta]) -> Usage:
    assert isinstance(deltas[-1], Usage)
    return deltas[-1]


def said(deltas: Sequence[Delta], kind: type[Text] | type[Thinking] = Text) -> str:
    return "".join(delta.text for delta in deltas if isinstance(delta, kind))


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
    assert "holds 4,096 tokens of prompt and reply, and no more" in model.check()


def test_the_native_route_is_used_because_v1_takes_no_num_ctx(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    ask(backend(url))
    assert not [path for path, _ in server.requests if path.startswith("/v1")]


def test_num_ctx_and_shift_never_change_so_that_the_model_is_loaded_once(ollama: tuple[Ollama, str]) -> None:
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


# ---- truncate and shift ----


def test_truncate_and_shift_are_off(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    with pytest.raises(ModelError, match=TOO_LONG) as caught:
        ask(backend(url), SYSTEM, LONG)
    assert "longer than the model's context" in caught.value.what
    assert "--budget" in caught.value.fix
    assert [(body["truncate"], body["shift"]) for body in server.sent()] == [(False, False)]


def test_the_small_server_would_cut_to_half_the_window_if_it_were_let() -> None:
    """What the row tells of, so that the test above has something to fail at."""
    import httpx

    with served() as (_, url):
        body = {"model": "qwen2.5:7b", "messages": [{"role": "user", "content": "word " * 12_000}], "stream": False}
        answer = httpx.post(f"{url}/api/chat", json=body, trust_env=False)
    assert (answer.status_code, answer.json()["prompt_eval_count"]) == (200, 2050)


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
    (found,) = [check for check in OllamaServer(url).checks("") if check.name == "prompt"]
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


def test_think_is_left_out_for_a_model_that_cannot(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    assert said(ask(backend(url, think="high"), tools=()))
    assert "think" not in server.sent()[0]


@pytest.mark.parametrize(("how", "sent"), [("on", "medium"), ("off", "low"), ("high", "high")])
def test_a_model_with_levels_gets_a_level(how: str, sent: str, ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    levels = {"values": ["low", "medium", "high"], "default": "medium"}
    server.models["gpt-oss:20b"] = Model(("completion", "tools", "thinking"), family="gptoss", thinking=levels)
    ask(backend(url, "gpt-oss:20b", think=how))
    assert server.sent()[0]["think"] == sent


def test_thinking_eats_num_predict_and_gets_room_of_its_own(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    server.models["qwen3:8b"] = THINKER
    server.replies = [Reply("Two.", "hm " * 3_000), Reply("Two.", "hm " * 9_000)]
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


def test_thinking_never_goes_back_as_content(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    server.models["qwen3:8b"] = THINKER
    ask(backend(url, "qwen3:8b"), SYSTEM, USER, Message("a", "assistant", "Two.", thinking="SECRET"), USER)
    assert "SECRET" not in str(server.sent())


# ---- tools ----


@pytest.mark.parametrize(("able", "tools"), [(("completion", "tools"), True), (("completion",), False)])
def test_whether_a_model_takes_tools_is_known_from_show(
    able: Sequence[str], tools: bool, ollama: tuple[Ollama, str]
) -> None:
    server, url = ollama
    server.models["phi:latest"] = Model(able)
    assert backend(url, "phi").tools is tools


def test_of_a_server_that_does_not_tell_nothing_is_known_about_tools() -> None:
    assert backend("http://127.0.0.1:9").tools is None


def test_tools_for_a_model_that_takes_none_are_refused_before_anything_is_said(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    server.models["phi:latest"] = Model(("completion",))
    with pytest.raises(ToolsRefused, match="cannot call tools") as caught:
        ask(backend(url, "phi"))
    assert "--model" in caught.value.fix


def test_a_chosen_model_calls_tools_if_one_does(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    server.models = {"nomic-embed-text:latest": Model(("embedding",)), "phi:latest": Model(("completion",))}
    assert OllamaServer(url).choose() == "phi:latest"
    server.models["mistral:7b"] = Model()
    assert OllamaServer(url).choose() == "mistral:7b"


# ---- streaming ----


def test_several_calls_in_one_reply_are_never_taken_for_one(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    server.replies = [Reply("I look.", calls=[("list_articles", {"page": 1})] * 3)]
    calls = [delta for delta in ask(backend(url)) if isinstance(delta, ToolCall)]
    assert [call.arguments for call in calls] == ['{"page": 1}'] * 3
    assert len({call.id for call in calls}) == 3


def test_results_go_back_with_the_name_and_the_id_of_their_call(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    calls = (ToolCall("c1", "list_articles"), ToolCall("c2", "list_articles"))
    results = [Message(f"t{id_}", "tool", "16", call_id=id_, name="list_articles") for id_ in ("c1", "c2")]
    ask(backend(url), SYSTEM, USER, Message("a", "assistant", calls=calls), *results)
    sent = [message for message in server.sent()[0]["messages"] if message["role"] == "tool"]
    assert [(message["tool_name"], message["tool_call_id"]) for message in sent] == [
        ("list_articles", "c1"),
        ("list_articles", "c2"),
    ]


@pytest.mark.parametrize("stream", [True, False])
def test_a_reply_is_the_same_streamed_and_whole(stream: bool, ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    server.models["qwen3:8b"] = THINKER
    server.replies = [Reply("I look twice.", "Hm, two.", [("list_articles", {}), ("list_articles", {"page": 2})])]
    deltas = ask(backend(url, "qwen3:8b", stream=stream))
    assert (said(deltas, Thinking), said(deltas)) == ("Hm, two.", "I look twice.")
    assert [delta.arguments for delta in deltas if isinstance(delta, ToolCall)] == ["{}", '{"page": 2}']
    assert usage(deltas).finish == "stop"


# ---- errors ----


def test_an_error_in_the_middle_of_a_stream_comes_after_what_was_said(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    server.replies = [Reply("Half of", error="an error was encountered while running the model")]
    stream = backend(url).stream([SYSTEM, USER], [])
    seen: list[Delta] = []
    with pytest.raises(ModelError, match="broke off its reply: an error was encountered"):
        seen.extend(stream)
    assert said(seen) == "Half of"
    assert len(server.sent()) == 1, "never asked again once it has begun"


def test_a_connection_lost_in_the_middle_is_not_asked_for_again(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    server.replies = [Reply("Half of", lost=True)]
    with pytest.raises(ModelError, match="stopped in the middle of a reply"):
        ask(backend(url))
    assert len(server.sent()) == 1


def test_a_missing_model_is_named_with_those_that_are_there(ollama: tuple[Ollama, str]) -> None:
    _, url = ollama
    with pytest.raises(ModelError, match="'phi4' is not installed") as caught:
        ask(backend(url, "phi4"))
    assert caught.value.fix == "ollama pull phi4 (installed: qwen2.5:7b)"


def test_a_full_queue_and_a_lost_connection_are_waited_for(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    server.busy, server.lost, server.retry_after = 1, 1, "3"
    pauses: list[float] = []
    deltas = ask(backend(url, sleep=pauses.append))
    waits = [delta for delta in deltas if isinstance(delta, Waiting)]
    assert waits[0] == Waiting("loading qwen2.5:7b")
    assert waits[1].what.startswith("the connection was lost: again in 0.")
    assert waits[2] == Waiting("the server is busy: again in 3.0 s", 3.0)
    assert pauses == [wait.seconds for wait in waits[1:]]
    assert said(deltas) == "I look."


def test_a_queue_that_stays_full_is_told_after_four_tries(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    server.busy = 9
    with pytest.raises(ModelError, match="the server is busy: server busy, please try again"):
        ask(backend(url, sleep=lambda _: None))
    assert server.busy == 5


# ---- usage ----


def test_what_was_cached_is_reported_and_part_of_the_prompt(ollama: tuple[Ollama, str]) -> None:
    _, url = ollama
    model = backend(url)
    first = usage(ask(model))
    again = usage(ask(model, SYSTEM, USER, Message("a", "assistant", "A thimble."), USER))
    assert (first.cached_tokens, first.finish) == (0, "stop")
    assert first.prompt_tokens is not None
    assert again.cached_tokens == first.prompt_tokens
    assert again.prompt_tokens is not None
    assert again.prompt_tokens > first.prompt_tokens


def test_what_an_older_server_had_cached_is_unknown_and_not_zero(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    server.counts_cached, server.version = False, "0.15.5"
    found = usage(ask(backend(url)))
    assert found.cached_tokens is None
    assert found.prompt_tokens


def test_a_count_that_leaves_out_what_was_cached_is_none(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    server.counts_cached, server.version = False, "0.30.0"
    assert usage(ask(backend(url))).prompt_tokens is None


def test_the_rate_of_a_prefill_is_of_what_was_not_cached(ollama: tuple[Ollama, str]) -> None:
    """Since cached counts are reported, the seconds are those of the rest alone."""
    _, url = ollama
    backend_ = backend(url)
    ask(backend_)
    found = usage(ask(backend_, SYSTEM, USER, Message("a", "assistant", "A thimble."), USER))
    replied = Replied(1, Message("r", "assistant", "x"), found, 1.0, 0.5)
    ledger = Ledger()
    view = measure([SYSTEM, USER], [SYSTEM, USER], Budget(8_000, EstimateCounter()))
    for event in (Prepared(1, "none", "ollama/x", view, False), replied):
        ledger.add(event)
    assert found.prompt_tokens is not None
    assert found.cached_tokens is not None
    assert ledger.calls[0].prefill.tokens == found.prompt_tokens - found.cached_tokens


def test_a_cancelled_stream_closes_the_connection_and_has_no_usage(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    server.replies = [Reply("word " * 2_000)]
    stream = backend(url).stream([SYSTEM, USER], [])
    assert [next(stream) for _ in range(2)] == [Waiting("loading qwen2.5:7b"), Text("word ")]
    stream.close()
    assert not [delta for delta in stream]


# ---- keep-alive and loading ----


@pytest.mark.parametrize(("keep_alive", "sent"), [("10m", "10m"), ("-1", -1), ("300", 300), ("0", 0)])
def test_keep_alive_is_sent_as_the_server_reads_it(keep_alive: str, sent: object, ollama: tuple[Ollama, str]) -> None:
    """A number without a unit is a number: as a text it is refused."""
    server, url = ollama
    ask(backend(url, keep_alive=keep_alive))
    assert server.sent()[0]["keep_alive"] == sent


def test_loading_is_told_when_it_happens_and_asked_for_only_then(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    model = backend(url)
    waits = [[delta for delta in ask(model) if isinstance(delta, Waiting)] for _ in range(3)]
    assert waits == [[Waiting("loading qwen2.5:7b")], [], []]
    assert len([path for path, _ in server.requests if path == "/api/ps"]) == 1
    assert not [delta for delta in ask(backend(url)) if isinstance(delta, Waiting)], "another session finds it loaded"
    assert [delta for delta in ask(backend(url, room=30_000)) if isinstance(delta, Waiting)], "with another context"


def test_a_model_that_is_not_kept_is_loaded_and_told_each_time(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    model = backend(url, keep_alive="0")
    waits = [delta for _ in range(2) for delta in ask(model) if isinstance(delta, Waiting)]
    assert len(waits) == len(server.loads) == 2


def test_the_seconds_of_loading_are_apart_from_the_rest(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    server.load_seconds = 0.2
    model = backend(url)
    loaded = usage(ask(model)).load_seconds
    assert loaded is not None
    assert loaded >= 0.2
    assert (usage(ask(model)).load_seconds or 0) < 0.1


def test_a_model_that_runs_elsewhere_is_not_said_to_load() -> None:
    show = b'{"capabilities":["completion","tools"],"remote_model":"x","remote_host":"https://ollama.com:443"}'
    assert not [delta for delta in model(Wire(chat=ANSWER, show=show)).stream([USER], []) if isinstance(delta, Waiting)]


def test_an_empty_request_only_loads_which_is_no_reply(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    body = {"model": "qwen2.5:7b", "messages": [], "keep_alive": -1}
    (line,) = OllamaServer(url).replies("/api/chat", body, 5, "qwen2.5:7b")
    assert (line["done_reason"], server.loads) == ("load", [4_096])
    assert wire.usage(line) == Usage()


# ---- the doctor ----


def test_the_doctor_tells_of_each_thing(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    assert {check.name: check.state for check in OllamaServer(url).checks("")} == {
        "server": "ok",
        "model": "ok",
        "tools": "ok",
        "thinking": "ok",
        "context": "ok",
        "tokenizer": "ok",
        "prefix cache": "ok",
        "keep-alive": "ok",
    }
    server.version = "0.15.5"
    server.models = {"phi:latest": Model(("completion", "thinking"), 4_096)}
    found = {check.name: check for check in OllamaServer(url, Manner("off", keep_alive="0")).checks("")}
    assert {name for name, check in found.items() if check.state == "warn"} >= {
        "tools",
        "context",
        "tokenizer",
        "prefix cache",
        "keep-alive",
    }
    assert all(check.fix for check in found.values() if check.state != "ok")
    assert "the model holds 4,096 tokens, 4,096 are asked for, it is not loaded now" in found["context"].found
    assert found["thinking"].found == "off"


# ---- where it is ----


def test_ollama_host_in_all_its_forms(ollama: tuple[Ollama, str]) -> None:
    """More of them in test_address.py."""
    _, url = ollama
    port = url.rpartition(":")[2]
    for form in (
        url,
        f"127.0.0.1:{port}",
        f":{port}",
        f"0.0.0.0:{port}",
        f"http://0.0.0.0:{port}/",
        f'"localhost:{port}"',
    ):
        assert OllamaServer(form).models() == ["qwen2.5:7b"]
    assert host_url("http://box") == "http://box:80"
    assert host_url("https://box") == "https://box:443"
    assert host_url("box") == "http://box:11434"
