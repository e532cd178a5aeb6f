"""Whole sessions against whatever Ollama answers at OLLAMA_HOST on this machine: `make test-ollama`.

CALLER and TALKER name a model that calls tools and one that does not; otherwise the server's are looked through. A
small model answers anything, so no answer is judged here. Nothing is asserted of times: they are printed.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.servers.test_sessions import only
from tests.support.paths import ROOT
from thimble.agent.errors import ModelError
from thimble.agent.events import Answered, Prepared, Replied, ReplyPiece, ToolCalled
from thimble.agent.messages import Message
from thimble.agent.protocols import Waiting
from thimble.models.ollama.backend import Ollama
from thimble.models.ollama.server import OllamaServer
from thimble.models.server import ServerOptions
from thimble.session.session import Session
from thimble.session.settings import Settings

SERVER = OllamaServer(os.environ.get("OLLAMA_HOST", ""), ServerOptions())
if not SERVER.answers(2.0):
    pytest.skip(f"no Ollama answers at {SERVER.url}: ollama serve, or OLLAMA_HOST", allow_module_level=True)

QUESTIONS = (
    *("What is context rot?", "How large is a context window?", "What does a sliding window lose?"),
    *("What is observation masking?", "Who pays for tokens?", "What does a summary cost?"),
    *("What is a prompt cache?", "When does the cache break?", "What is retrieval good for?"),
    *("Which notes should be kept?", "What is a tool result?", "What was my first question?"),
)
REPLY_TOKENS = 256


def model(variable: str, calls: bool) -> str:
    """The named model, or the first that calls tools (or does not, but chats); skips without one."""
    named = os.environ.get(variable)
    for name in [SERVER.choose(named)] if named else SERVER.models():
        info = SERVER.info(name)
        if "embed" not in name and info.can("completion") and info.can("tools") is calls:
            return name
    pytest.skip(f"no model on {SERVER.url} {'calls tools' if calls else 'is without tools'}: {variable}=NAME names one")


@pytest.fixture
def caller() -> str:
    return model("CALLER", True)


@pytest.fixture
def talker() -> str:
    return model("TALKER", False)


def opened(name: str, **settings: Any) -> Session:
    settings = {"max_turns": 3, "think": "off"} | settings
    session = Session(Settings(backend="ollama", base_url=SERVER.url, model=name, **{"calls": "tools", **settings}))
    session.agent.max_output = REPLY_TOKENS
    return session


def post(body: Any) -> Any:
    """What a client that knows nothing of thimble asks, and gets."""
    return httpx.post(f"{SERVER.url}/api/chat", json=body, timeout=600, trust_env=False).raise_for_status().json()


def counted(events: list[Any]) -> Iterator[tuple[int, int | None]]:
    """Our count of each prompt, and the server's; one whose reply went in circles has none."""
    for prepared, replied in zip(only(Prepared, events), only(Replied, events), strict=True):
        if not replied.stopped_by:
            yield prepared.view.tokens, replied.usage.prompt_tokens


# ---- one session ----


def test_the_doctor_finds_it(caller: str) -> None:
    command = [sys.executable, "-m", "thimble", "doctor", "--backend", "ollama", "--base-url", SERVER.url]
    run = subprocess.run([*command, "--model", caller], capture_output=True, text=True, cwd=ROOT, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr
    assert f"{SERVER.version()} at" in run.stdout
    assert f"{caller} calls tools" in run.stdout


@pytest.mark.parametrize("which", ["caller", "talker"])
def test_asked_by_schema_every_model_looks_up_first(which: str, request: pytest.FixtureRequest) -> None:
    session = opened(request.getfixturevalue(which), calls="schema")
    for question in QUESTIONS[:3]:
        events = [*session.ask(question)]
        assert only(ToolCalled, events)
    assert session.agent.backend.protocol == "calls by schema"


def load(name: str) -> None:
    """Load a model, without which the server does not tell how it counts."""
    post({"model": name, "messages": [], "stream": False})


def test_counts_are_exact(caller: str) -> None:
    load(caller)
    session = opened(caller)
    events = [event for question in QUESTIONS[:3] for event in session.ask(question)]
    assert session.agent.backend.counter.exact
    assert [ours for ours, _ in counted(events)] == [theirs for _, theirs in counted(events)]


def test_cached_tokens_are_reported_or_predicted(caller: str) -> None:
    session = opened(caller)
    for question in QUESTIONS[:3]:
        list(session.ask(question))
    _, *others = session.agent.ledger.calls
    assert all(call.cached.tokens is None or 0 <= call.cached.tokens < (call.prompt.tokens or 0) for call in others)
    assert [call for call in others if call.cached.tokens]


# ---- what goes wrong, and what a user has enough of ----


def test_a_prompt_that_is_too_long_is_refused_and_not_cut(caller: str) -> None:
    backend = Ollama(caller, SERVER, room=1)
    long = Message("u", "user", "seven " * 2 * backend.context)
    with pytest.raises(ModelError, match=r"longer than|the prompt has"):
        list(backend.stream([long], [], max_tokens=4))


def test_after_a_reply_that_is_cancelled_the_next_one_comes(caller: str) -> None:
    session = opened(caller)
    session.agent.max_output = 4_000
    events = session.ask(QUESTIONS[0])
    next(event for event in events if isinstance(event, ReplyPiece))
    events.close()
    assert [message.role for message in session.agent.history] == ["system", "user"]
    session.agent.max_output = REPLY_TOKENS
    assert only(Replied, session.ask(QUESTIONS[1]))


def test_a_model_that_was_unloaded_in_between_is_loaded_again(caller: str) -> None:
    session = opened(caller, keep_alive="10m")
    list(session.ask(QUESTIONS[0]))
    assert post({"model": caller, "messages": [], "keep_alive": 0, "stream": False})["done_reason"] == "unload"
    assert only(Replied, session.ask(QUESTIONS[1]))
    assert SERVER.loaded(caller)


def test_two_sessions_and_another_client_at_once(caller: str) -> None:
    plain = {"model": caller, "messages": [{"role": "user", "content": "Name a colour."}], "stream": False}
    plain |= {"options": {"num_predict": 8}}

    def asks(session: Session) -> list[Any]:
        return [event for question in QUESTIONS[:2] for event in session.ask(question)]

    sessions = [opened(caller), opened(caller)]
    with ThreadPoolExecutor() as pool:
        asked = [pool.submit(asks, session) for session in sessions]
        other = [pool.submit(post, plain) for _ in range(3)]
    assert all(len(only(Answered, each.result())) == 2 for each in asked)
    assert all(each.result()["done"] for each in other)


def test_a_neighbour_who_asks_for_no_context_does_not_make_us_load_again(caller: str) -> None:
    post({"model": caller, "messages": [], "keep_alive": 0, "stream": False})
    list(Ollama(caller, SERVER).stream([Message("u", "user", "Hello")], [], max_tokens=2))
    loaded = SERVER.loaded(caller) or 0
    post({"model": caller, "messages": [], "stream": False, "options": {"num_ctx": 2 * loaded}})
    deltas = list(Ollama(caller, SERVER).stream([Message("u", "user", "Hello")], [], max_tokens=2))
    assert not only(Waiting, deltas)


# ---- strategies ----
