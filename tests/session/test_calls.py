"""How a session finds out in which way its model calls tools, and what it then gives the model."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.ollama_wire import SHOW, loopback, send
from thimble.agent.events import Answered, Event, SideCalled, ToolReturned
from thimble.agent.messages import Message, ToolCall
from thimble.agent.prompts import AGAIN, BY_SCHEMA, SYSTEM
from thimble.agent.protocols import Waiting
from thimble.corpus.search import Search
from thimble.models.text_calls.kept_way import keep_way
from thimble.session import jsonl
from thimble.session.journal import folder, lines
from thimble.session.journal.journal import Journal
from thimble.session.session import Session
from thimble.session.settings import Settings

TAGS = b'{"models":[{"name":"qwen2.5:7b","model":"qwen2.5:7b","size":4683087332,"digest":"a80c4f17acd5"}]}'
CALL = {"function": {"name": "search_articles", "arguments": {"query": "masking"}}}
QUESTION = "What is observation masking?"


@dataclass
class Model:
    """An Ollama whose one model calls by itself, or only as an object of a schema. It keeps the bodies of its chats."""

    calls: bool
    says: str = "Observation masking hides old tool outputs."
    chats: list[dict[str, Any]] = field(default_factory=list)

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        self.chats.append(body)
        if shape := body.get("format"):
            first = [*shape["anyOf"][0]["properties"]]
            turn = {"search": QUESTION} if first == ["search"] else {"answer": self.says}
            return {"role": "assistant", "content": json.dumps(turn)}
        looked = body["messages"][-1]["role"] == "tool"
        if self.calls and not looked:
            return {"role": "assistant", "content": "", "tool_calls": [CALL]}
        return {"role": "assistant", "content": "It hides [observation-masking]." if looked else "I will use search."}

    @contextmanager
    def served(self) -> Iterator[str]:
        replies = {"version": b'{"version":"0.13.0"}', "tags": TAGS, "show": SHOW, "ps": b'{"models":[]}'}

        def handle(handler: Any, body: Any) -> None:
            path = handler.path.removeprefix("/api/")
            if path != "chat":
                return send(handler, replies[path])
            line = {"message": self.reply(body), "done": True, "done_reason": "stop", "prompt_eval_count": 9}
            return send(handler, json.dumps(line).encode() + b"\n")

        with loopback(handle) as url:
            yield url


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def asked(url: str, **settings: Any) -> tuple[Session, list[Event]]:
    session = Session(Settings(backend="ollama", base_url=url, **settings))
    return session, list(session.ask(QUESTION))


def trials(events: list[Event]) -> int:
    return sum(isinstance(event, SideCalled) and event.purpose == "trial of tool calls" for event in events)


def test_a_model_that_calls_by_itself_is_left_to_it() -> None:
    model = Model(calls=True)
    with model.served() as url:
        session, events = asked(url)
        assert isinstance(events[0], Waiting)
        assert trials(events) == 2
        assert (session.agent.backend.protocol, session.agent.examples, session.agent.state.system) == ("", (), SYSTEM)
        assert not any("format" in chat for chat in model.chats)
        assert trials(asked(url)[1]) == 0, "the verdict is kept"


def test_a_model_that_only_announces_calls_writes_objects() -> None:
    model = Model(calls=False)
    with model.served() as url:
        session, events = asked(url)
        assert trials(events) == 1
        assert session.agent.backend.protocol == "calls by schema"
        assert any("called no tool when that was tried: each turn is an object" in line for line in session.notices)
        assert session.agent.history[0].content == session.agent.state.system == BY_SCHEMA
        assert list(session.agent.tools) == ["search", "list", "read"]
        (found,) = [event for event in events if isinstance(event, ToolReturned)]
        assert (found.call.name, found.ok) == ("search", True)
        assert found.message.content.startswith("[")
        assert events[-1] == Answered(f"{model.says} [observation-masking]", "answered")
        assert isinstance(events[-1], Answered)
        assert (events[-1].invented, events[-1].from_memory) == ((), False)
        sent = model.chats[-1]["messages"]
        assert {message["role"] for message in sent} == {"system", "user", "assistant"}
        assert sent[-1]["content"].endswith(AGAIN.format(QUESTION))
        again, events = asked(url)
        assert trials(events) == 0, "the verdict is kept"
        assert again.agent.backend.protocol == "calls by schema"


def test_the_passage_that_the_search_finds_stands_beside_the_answer_and_in_no_prompt() -> None:
    model = Model(calls=False)
    with model.served() as url:
        session, events = asked(url, calls="schema")
        (hit,) = Search(session.library, session.embedder()).find(QUESTION, 1)
        assert isinstance(events[-1], Answered)
        assert events[-1].passage == f"{hit.text} [{hit.article.slug}]"
        assert jsonl.event(events[-1], session.agent.ledger)["passage"] == events[-1].passage
        *_, again = session.ask("Does it save tokens?")
        leaning = Search(session.library, session.embedder()).find("Does it save tokens?", 1, QUESTION)[0]
        assert again.passage == f"{leaning.text} [{leaning.article.slug}]"  # type: ignore[union-attr]
        said = [one.content for one in session.agent.history if one.role == "assistant" and not one.calls]
        assert said == [f"{model.says} [observation-masking]"] * 2
        sent = [message["content"] for message in model.chats[-1]["messages"] if message["role"] == "assistant"]
        assert sent.count(json.dumps({"answer": model.says})) == 1, "the first answer, without source and passage"


def test_there_is_no_passage_where_nothing_fits_or_nothing_was_searched_for() -> None:
    with Model(calls=False).served() as url:
        session, _ = asked(url, calls="schema")
        search = [Message("q", "user", "zzzz"), Message("c", "assistant", calls=(ToolCall("c", "search"),))]
        grounds = session.agent.grounds
        assert grounds("", search, 1).passage == ""
        for name, there in (("search", True), ("list_articles", False), ("read_article", False)):
            call = Message("c", "assistant", calls=(ToolCall("c", name),))
            assert bool(grounds("", [Message("q", "user", QUESTION), call], 1).passage) is there


def test_words_that_stand_in_nothing_that_was_read_are_from_memory_also_when_the_session_goes_on(
    tmp_path: Path,
) -> None:
    model = Model(calls=False, says="Thimbles were banned in Bruges in 1911.")
    path, read = tmp_path / "2026-11-22-0217-k3f9.jsonl", "Observation masking hides old tool outputs."
    with model.served() as url:
        settings = Settings(backend="ollama", base_url=url, calls="schema", session_dir=tmp_path)
        session = Session(settings, Journal(path))
        *_, answered = session.ask(QUESTION)
        assert answered == Answered(model.says, "answered")
        assert (answered.from_memory, answered.invented) == (True, ())  # type: ignore[union-attr]
        assert session.agent.ledger.from_memory
        session.leave()
        kept = [line.stored for line in lines.read(path.read_bytes())[0] if isinstance(line.stored, Answered)]
        assert [one.passage for one in kept] == [answered.passage] != [""]  # type: ignore[union-attr]
        settings, journal, past = folder.reopened(settings, path)
        again = Session(settings, journal, past)
        assert again.agent.ledger.from_memory
        for model.says, from_memory in ((read, False), ("Needles rust.", True)):
            *_, answered = again.ask("Hm?")
            assert answered.from_memory is from_memory  # type: ignore[union-attr]
        again.leave()


@pytest.mark.parametrize(("calls", "protocol"), [("tools", ""), ("schema", "calls by schema"), ("text", "text ReAct")])
def test_a_way_that_is_named_needs_no_trial(calls: str, protocol: str) -> None:
    with Model(calls=True).served() as url:
        session, events = asked(url, calls=calls)
        assert (trials(events), session.agent.backend.protocol) == (0, protocol)


def test_a_change_of_the_model_changes_prompt_tools_and_examples() -> None:
    with Model(calls=False).served() as url:
        session, _ = asked(url, calls="schema")
        session.use_model("reader")
        list(session.ask(QUESTION))
        agent = session.agent
        assert (agent.examples, agent.state.system, "search" in agent.tools) == ((), SYSTEM, False)


def test_a_strategy_brings_its_tools_along() -> None:
    with Model(calls=False).served() as url:
        session, _ = asked(url, calls="schema", strategy="todo")
        assert {"search", "todo"} <= set(session.agent.offered())


@pytest.mark.parametrize("verdict", ["guess", "", "[]"])
def test_a_verdict_that_cannot_be_one_is_tried_anew(verdict: str) -> None:
    keep_way("a80c4f17acd5", verdict)
    with Model(calls=True).served() as url:
        assert trials(asked(url)[1]) == 2
