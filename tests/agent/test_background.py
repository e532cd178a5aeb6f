"""Calls in the background end by themselves or are stopped. Each is accounted for once; no request is orphaned."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from random import Random
from typing import Any

import pytest

from tests.support import ollama_wire, openai_wire
from tests.support.histories import TinyCounter
from tests.support.scripted_loop import Script
from tests.support.scripted_server import (
    NOT_FOUND,
    PATIENCE_SECONDS,
    WORDS,
    Front,
    held,
    no_thread_is_left,
    path_of,
    says,
    says_json,
    starts,
)
from tests.support.timing import Timed
from thimble.agent import background
from thimble.agent.background import BackgroundCall, Thread
from thimble.agent.errors import Halted, ModelError
from thimble.agent.events import SideBegan, SideCalled
from thimble.agent.messages import Message, Schema
from thimble.agent.protocols import Backend, Delta, Text, Usage
from thimble.agent.side import SideModel
from thimble.models import make_reader
from thimble.models.ollama.backend import Ollama
from thimble.models.ollama.server import OllamaServer
from thimble.models.openai.backend import OpenAIBackend
from thimble.models.openai.connection import Connection
from thimble.session.step_worker import StepWorker

ASKED = [Message("s", "system", "Be brief."), Message("u", "user", "Sum it up.")]


def ended(errand: BackgroundCall) -> BackgroundCall:
    """The errand, once it has ended."""
    errand._end.wait(PATIENCE_SECONDS)
    assert errand.ended
    return errand


def called(side: SideModel) -> SideCalled:
    """The account of the one call that has ended."""
    (event,) = [event for event in side.drain_events() if isinstance(event, SideCalled)]
    return event


# --- an errand --------------------------------------------------------------------------------------------------------


def test_a_reply_is_there_when_its_call_has_ended_and_is_accounted_for_once() -> None:
    side = SideModel(Script([[Text("sh"), Text("ort"), Usage(prompt_tokens=9, output_tokens=2)]]))
    errand = side.begin(ASKED, "memory", 50)
    assert ended(errand).text == "short"
    began, end = side.drain_events()
    assert isinstance(began, SideBegan)
    assert isinstance(end, SideCalled)
    assert (end.purpose, end.error, end.lag, end.held_seconds) == ("memory", "", 0, 0.0)
    assert end.usage == Usage(prompt_tokens=9, output_tokens=2)
    assert (began.prompt_tokens, began.exact, began.model) == (end.prompt_tokens, end.exact, end.model)
    assert abs(end.began - time.time()) < 3600
    assert [*side.drain_events()] == []
    no_thread_is_left()


def test_the_memory_model_is_asked_if_there_is_one_and_without_tools() -> None:
    agent, memory = Script([]), Script([[Text("short")]])
    side = SideModel(agent, memory=memory, worker=StepWorker())
    side.remember_tools([{"name": "read_article"}], [], agent)
    side.begin(ASKED, "memory", 50).wait()
    (request,) = memory.requests
    assert (request.tools, request.max_tokens, request.temperature, request.expects) == ((), 50, 0.0, "text")


@pytest.mark.parametrize("worker", [Thread, StepWorker, Timed])
def test_a_call_that_fails_has_no_text_and_says_why(worker: Callable[[], Any]) -> None:
    side = SideModel(Script([[Text("sh"), ModelError("the server is gone")]]), worker=worker())
    errand = side.begin(ASKED, "memory", 50)
    errand.wait()
    assert errand.text == ""
    assert called(side).error == "the server is gone"


def test_a_bug_is_raised_where_the_reply_is_wanted_and_accounted_for() -> None:
    side = SideModel(Script([[RuntimeError("a bug")]]))
    errand = ended(side.begin(ASKED, "memory", 50))
    with pytest.raises(RuntimeError, match="a bug"):
        assert errand.text
    assert called(side).error == "RuntimeError: a bug"


def test_ctrl_c_where_no_thread_asks_leaves_no_half_reply() -> None:
    side = SideModel(Script([[Text("sh"), KeyboardInterrupt()]]), worker=StepWorker())
    errand = side.begin(ASKED, "memory", 50)
    with pytest.raises(KeyboardInterrupt):
        errand.wait()
    assert errand.text == ""
    assert called(side).error == "stopped"


def test_an_errand_that_is_stopped_before_it_begins_asks_nobody() -> None:
    script = Script([[Text("short")]])
    side = SideModel(script, worker=Timed())
    errand = side.begin(ASKED, "memory", 50)
    side.stop()
    errand.run()
    assert script.requests == []
    assert (errand.text, called(side).error) == ("", "stopped")


def test_the_agent_s_wait_is_counted_also_where_it_is_cut_short() -> None:
    def interrupt() -> None:
        time.sleep(0.001)
        raise KeyboardInterrupt

    side = SideModel(Script([]), worker=Timed(interrupt))
    errand = side.begin(ASKED, "memory", 50)
    with pytest.raises(KeyboardInterrupt):
        errand.wait()
    side.stop()
    assert called(side).held_seconds > 0


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_a_lagged_errand_ends_after_so_many_calls_of_the_agent(steps: int) -> None:
    side = SideModel(Script([[Text("short")]]), worker=StepWorker(steps))
    errand = side.begin(ASKED, "memory", 50)
    assert [errand.look() for _ in range(steps + 1)] == [False] * steps + [True]
    assert called(side).lag == steps


def test_halting_is_heard_only_by_the_call_that_is_halted() -> None:
    background.raise_if_halted()
    assert background.current_stop_event() is None
    seen: list[bool] = []
    errand = BackgroundCall(lambda reply: seen.append(background.current_stop_event()), StepWorker())
    errand.run()
    background.sleep_or_halt(0)
    assert (seen, background.current_stop_event()) == ([errand.halt], None)
    stopped = BackgroundCall(lambda reply: background.sleep_or_halt(60), StepWorker())
    stopped.stop()
    stopped.run()
    assert stopped.error == Halted().what


# --- the thread -------------------------------------------------------------------------------------------------------


class Slow(Backend):
    """Pauses for random moments, ends as it likes, and knows how many of its replies stream at once."""

    name, model, counter = "slow", "tiny", TinyCounter()

    def __init__(self, random: Random) -> None:
        self.random, self.open, self.most = random, 0, 0

    def stream(
        self, messages: Sequence[Message], tools: Sequence[Schema], **options: Any
    ) -> Generator[Delta, None, None]:
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            for _ in range(self.random.randrange(4)):
                background.sleep_or_halt(self.random.choice([0, 0, 0.001]))
                yield Text("word ")
                if not self.random.randrange(8):
                    raise ModelError("gone")
        finally:
            self.open -= 1


def test_whenever_errands_end_or_are_stopped_each_is_accounted_for_once_and_runs_alone() -> None:
    random = Random(7)
    backend = Slow(random)
    side = SideModel(backend)
    events: list[object] = []
    for _ in range(150):
        errand = side.begin(ASKED, "memory", 50)
        match random.randrange(4):
            case 0:
                side.stop()
            case 1:
                errand.wait()
            case 2:
                background.sleep_or_halt(random.choice([0, 0.0005, 0.002]))
                events += side.drain_events()
                side.stop()
        if random.randrange(2):
            events += side.drain_events()
        assert errand.ended or not errand.look() or errand.ended
        errand.wait()
    events += side.drain_events()
    no_thread_is_left()
    assert backend.most == 1
    assert backend.open == 0
    assert len([event for event in events if isinstance(event, SideBegan)]) == 150
    assert len([event for event in events if isinstance(event, SideCalled)]) == 150


# --- real servers -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["ollama", "openai"])
@pytest.mark.parametrize("when", ["it has sent nothing yet", "it has sent a word", "it is busy"])
def test_a_server_sees_at_once_that_nobody_wants_the_reply(kind: str, when: str) -> None:
    first = {"it has sent nothing yet": b"", "it has sent a word": WORDS[kind], "it is busy": None}[when]
    with held(kind, first) as server:
        side = SideModel(Script([]), memory=server.backend)
        errand = side.begin(ASKED, "memory", 50)
        assert server.reached.wait(PATIENCE_SECONDS)
        assert not errand.ended
        side.stop()
        server.sees_the_client_go()
        no_thread_is_left()
        assert len(server.asked) == 1
        assert called(side).error == "stopped"
        assert errand.text == ""


@pytest.mark.parametrize("kind", ["ollama", "openai", "reader"])
def test_two_replies_stream_at_once(kind: str) -> None:
    answers = {
        "/api/chat": starts(ollama_wire.ANSWER),
        "/v1/chat/completions": starts(openai_wire.ANSWER),
        "/api/show": says("200 OK", ollama_wire.SHOW),
        "/api/ps": says_json("200 OK", {"models": []}),
    }
    front = Front(lambda request: answers.get(path_of(request), NOT_FOUND))
    try:
        backend = {
            "ollama": lambda: Ollama("qwen2.5:7b", OllamaServer(front.url)),
            "openai": lambda: OpenAIBackend("openai", "tiny", Connection(front.url), needed=4_000),
            "reader": make_reader,
        }[kind]()
        side = SideModel(backend)
        alone = text_of(backend)
        for _ in range(5):
            errand = side.begin(ASKED, "memory", 500)
            assert text_of(backend) == alone
            assert ended(errand).text == alone
            assert called(side).error == ""
    finally:
        front.stop()


def text_of(backend: Any) -> str:
    return "".join(delta.text for delta in backend.stream(ASKED, ()) if isinstance(delta, Text))
