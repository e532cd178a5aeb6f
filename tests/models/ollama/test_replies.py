"""What bites the clients of Ollama, in what they get back: a test for each row."""

from __future__ import annotations

import pytest

from tests.support.asking import SYSTEM, THINKER, USER, ask, backend, said, usage
from tests.support.ollama_server import Model, Ollama, Reply
from tests.support.ollama_wire import ANSWER, Wire, model
from thimble.agent.messages import Message, ToolCall
from thimble.agent.protocols import Thinking, Waiting
from thimble.models import checks
from thimble.models.ollama.server import OllamaServer
from thimble.models.server import ServerOptions

# ---- streaming ----


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


# ---- the doctor ----


def test_the_doctor_tells_of_each_thing(ollama: tuple[Ollama, str]) -> None:
    server, url = ollama
    assert {check.name: check.state for check in checks(OllamaServer(url), "")} == {
        "server": "ok",
        "model": "ok",
        "tools": "ok",
        "thinking": "ok",
        "context": "ok",
        "tokenizer": "ok",
        "prefix cache": "ok",
        "keep-alive": "ok",
        "calls": "ok",
    }
    server.version = "0.15.5"
    server.models = {"phi:latest": Model(("completion", "thinking"), 4_096)}
    found = {check.name: check for check in checks(OllamaServer(url, ServerOptions("off", keep_alive="0")), "")}
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
