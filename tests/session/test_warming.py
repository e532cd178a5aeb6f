"""The fixed beginning of every prompt, computed by a server on this machine before the first question."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.support.ollama_server import Model, Ollama, rendered, served
from tests.support.scripted_server import PATIENCE_SECONDS, held
from tests.support.sessions import scripted
from thimble.agent.errors import ModelError
from thimble.agent.events import Asked, Replied
from thimble.commands.forecast import forecast_prompt
from thimble.models import backend_on
from thimble.models.ollama.server import OllamaServer
from thimble.models.tool_calls.caller import ToolCaller
from thimble.session.journal.folder import reopen_session
from thimble.session.journal.journal import Journal
from thimble.session.session import Session
from thimble.session.settings import Settings

QUESTION = "What is observation masking?"


def opened(url: str, **settings: Any) -> Session:
    return Session(Settings(**{"backend": "ollama", "base_url": url, "calls": "tools", **settings}))


def warmed(session: Session) -> None:
    errand = session.begin_warming()
    assert errand
    errand.wait()
    assert not errand.error
    assert not session.is_warming


@pytest.mark.parametrize("calls", ["tools", "schema"])
def test_the_warming_prompt_is_the_beginning_of_the_first_prompt(calls: str) -> None:
    with served(Ollama()) as (server, url):
        session = opened(url, calls=calls)
        warmed(session)
        (warm,) = server.sent()
        events = list(session.ask(QUESTION))
        first = server.sent()[1]
    assert {**warm, "options": 0, "messages": 0, "format": 0} == {**first, "options": 0, "messages": 0, "format": 0}
    assert warm["options"]["num_ctx"] == first["options"]["num_ctx"]
    assert warm["messages"][:-1] == first["messages"][:-1]
    prompts = [rendered(Model(), body["messages"], body.get("tools") or ()) for body in (warm, first)]
    shared = prompts[1].index(QUESTION)
    assert prompts[0][:shared] == prompts[1][:shared]
    assert server.loads == [16_384]
    replied = next(event for event in events if isinstance(event, Replied))
    assert replied.usage.prompt_tokens
    assert replied.usage.cached_tokens
    assert replied.usage.prompt_tokens - replied.usage.cached_tokens < 20


def test_the_warming_call_is_entered_with_the_first_question(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    with served(Ollama()) as (_, url):
        session = Session(Settings(backend="ollama", base_url=url, calls="tools"), Journal(path))
        warmed(session)
        session.catch_up()
        assert session.agent.ledger.calls == []
        assert not path.exists(), "nothing was asked"
        promised = forecast_prompt(session, QUESTION).view
        list(session.ask(QUESTION))
        warming, first, *_ = session.agent.ledger.calls
        assert (warming.purpose, warming.output.tokens, warming.exchange) == ("warming", 1, 0)
        assert promised
        assert first.shared == promised.cached > 0
        list(session.ask("And why?"))
        assert [call.purpose for call in session.agent.ledger.calls].count("warming") == 1
        session.leave()
    _, _, saved = reopen_session(Settings(backend="reader"), path)
    assert [call.purpose for call in saved.ledger.calls][:2] == ["warming", "answer"]


def test_a_question_stops_it_and_it_is_not_counted() -> None:
    with held("ollama") as server:
        session = opened(server.url)
        errand = session.begin_warming()
        assert errand
        assert server.reached.wait(PATIENCE_SECONDS)
        assert session.is_warming
        with closing(session.ask(QUESTION)) as events:
            assert isinstance(next(events), Asked)
            server.sees_the_client_go()
        assert errand.stopped
        assert session.agent.ledger.calls == []
        agent = session.agent
        assert (
            agent.prefixes.count_cached(agent.backend.id, agent.schemas(), agent.backend.counter, agent.history) is None
        )
        session.leave()


def test_another_model_is_warmed_in_its_place() -> None:
    with served(Ollama({"qwen2.5:7b": Model(), "llama3.1:8b": Model()})) as (server, url):
        session = opened(url)
        session.use_model("llama3.1:8b")
        assert server.sent() == [], "nobody sits at a prompt"
        warmed(session)
        session.use_model("qwen2.5:7b")
        session._warmings[-1].wait()
        session.use_model("reader")
        assert [body["model"] for body in server.sent()] == ["llama3.1:8b", "qwen2.5:7b"]
        list(session.ask(QUESTION))
        assert [call.purpose for call in session.agent.ledger.calls].count("warming") == 2


def test_only_a_server_on_this_machine_is_asked() -> None:
    assert scripted().begin_warming() is None
    assert Session(Settings(backend="reader")).begin_warming() is None
    for url, is_local in (("127.0.0.1:1", True), ("[::1]:1", True), ("localhost:1", True), ("192.0.2.1:1", False)):
        backend = backend_on(OllamaServer(url), "qwen2.5:7b", 8_000)
        assert isinstance(backend, ToolCaller)
        assert backend.is_local is is_local
        assert backend.with_room(60_000).is_local is is_local
        session = scripted()
        session.agent.use(backend)
        assert (session.begin_warming() is not None) is is_local
        session.leave()


def test_a_failed_warming_is_left_for_the_question_to_report() -> None:
    with served(Ollama()) as (server, url):
        session = opened(url)
        _ = session.agent
        server.models.clear()
        errand = session.begin_warming()
        assert errand
        errand.wait()
        assert "not installed" in errand.error
        with pytest.raises(ModelError, match="not installed"):
            list(session.ask(QUESTION))
        assert session.agent.ledger.calls == []
        assert session.take_notices() == []
