"""In which way the model of a session calls tools, what it is given for that, and when the way changes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.ollama_wire import loopback, send
from thimble.agent.events import Answered, Event, SideCalled, ToolReturned
from thimble.agent.prompts import BY_SCHEMA, SYSTEM_PROMPT
from thimble.corpus.search import Search
from thimble.session import jsonl
from thimble.session.journal import folder, lines
from thimble.session.journal.journal import Journal
from thimble.session.session import Session
from thimble.session.settings import Settings

SMALL, LARGE = 1_543_714_304, 7_615_616_512
"""Parameters of qwen2.5:1.5b and of qwen2.5:7b, as /api/show has them."""
CALL = {"function": {"name": "search_articles", "arguments": {"query": "masking"}}}
QUESTION = "What is observation masking?"


@dataclass
class Model:
    """An Ollama whose one model calls by itself, or only as an object of a schema. It keeps the bodies of its chats."""

    calls: bool = True
    parameters: int | None = LARGE
    name: str = "qwen2.5"
    tools: bool = True
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
        facts = {"general.parameter_count": self.parameters} if self.parameters else {}
        able = ["completion", *["tools"] * self.tools]
        replies: dict[str, Any] = {
            "version": {"version": "0.13.0"},
            "tags": {"models": [{"name": self.name, "model": self.name}]},
            "show": {"model_info": facts, "capabilities": able},
            "ps": {"models": []},
        }

        def handle(handler: Any, body: Any) -> None:
            path = handler.path.removeprefix("/api/")
            if path != "chat":
                return send(handler, json.dumps(replies[path]).encode())
            line = {"message": self.reply(body), "done": True, "done_reason": "stop", "prompt_eval_count": 9}
            return send(handler, json.dumps(line).encode() + b"\n")

        with loopback(handle) as url:
            yield url


def opened(url: str, **settings: Any) -> Session:
    return Session(Settings(**{"backend": "ollama", "base_url": url, "calls": "auto", **settings}))


def asked(url: str, **settings: Any) -> tuple[Session, list[Event]]:
    session = opened(url, **settings)
    return session, list(session.ask(QUESTION))


def test_a_large_model_calls_in_its_servers_own_way_and_nothing_is_asked_before_the_question() -> None:
    model = Model()
    with model.served() as url:
        session, events = asked(url)
    assert not [event for event in events if isinstance(event, SideCalled)]
    assert (session.agent.backend.protocol, session.agent.examples, session.agent.state.system) == (
        "",
        (),
        SYSTEM_PROMPT,
    )
    assert [chat["messages"][1]["content"] for chat in model.chats] == [QUESTION] * 2
    assert not any("format" in chat for chat in model.chats)


@pytest.mark.parametrize(
    ("model", "by_schema"),
    [
        (Model(parameters=SMALL), True),
        (Model(parameters=3_999_999_999), True),
        (Model(parameters=4_000_000_000), False),
        (Model(parameters=SMALL, name="mystery:70b"), True),
        (Model(parameters=None, name="qwen2.5:1.5b"), True),
        (Model(parameters=None, name="smollm2:135m"), True),
        (Model(parameters=None, name="Qwen/Qwen2.5-3B-Instruct"), True),
        (Model(parameters=None, name="llama3.1:8b-instruct-q4_K_M"), False),
        (Model(parameters=None, name="phi3:mini-4k"), False),
        (Model(parameters=None, name="qwen2.5-14b-1m"), False),
        (Model(tools=False), True),
    ],
)
def test_the_size_and_the_template_decide_by_the_server_or_else_by_the_name(model: Model, by_schema: bool) -> None:
    with model.served() as url:
        session = opened(url)
        assert session.agent.backend.protocol == ("calls by schema" if by_schema else "")
        assert bool(session.agent.examples) is by_schema
    assert model.chats == []


def test_a_small_model_writes_objects_from_its_first_word() -> None:
    model = Model(calls=False, parameters=SMALL)
    with model.served() as url:
        session, events = asked(url)
    assert all("format" in chat for chat in model.chats)
    assert any("qwen2.5 is small: each turn is an object of a schema" in line for line in session.notices)
    assert session.agent.history[0].content == session.agent.state.system == BY_SCHEMA
    assert "search" in session.agent.tools
    (found,) = [event for event in events if isinstance(event, ToolReturned)]
    assert (found.call.name, found.ok) == ("search", True)
    assert isinstance(events[-1], Answered)
    assert events[-1].text == f"{model.says} [observation-masking]"
    assert (events[-1].invented, events[-1].from_memory) == ((), False)
    assert {message["role"] for message in model.chats[-1]["messages"]} == {"system", "user", "assistant"}


def test_a_model_that_calls_nothing_where_it_had_to_writes_objects_from_the_next_question_on() -> None:
    model = Model(calls=False)
    with model.served() as url:
        session, events = asked(url)
        assert isinstance(events[-1], Answered)
        assert events[-1].from_memory
        assert any("qwen2.5 called no tool: each turn is an object of a schema" in line for line in session.notices)
        assert not any("format" in chat for chat in model.chats)
        again = list(session.ask("And what does it cost?"))
    assert any(isinstance(event, ToolReturned) for event in again)
    assert session.agent.backend.protocol == "calls by schema"
    assert session.agent.state.system == BY_SCHEMA


@pytest.mark.parametrize("question", ["Hello!", "Good morning.", "Who won the chess world cup in 1987?"])
def test_nothing_changes_where_no_look_up_was_due(question: str) -> None:
    model = Model(calls=False)
    with model.served() as url:
        session = opened(url)
        events = list(session.ask(question))
    assert isinstance(events[-1], Answered)
    assert events[-1].from_memory
    assert session.agent.backend.protocol == ""


def test_a_model_that_has_called_is_not_doubted() -> None:
    model = Model()
    with model.served() as url:
        session, _ = asked(url)
        model.calls = False
        answer = list(session.ask("When does observation masking matter?"))[-1]
    assert isinstance(answer, Answered)
    assert answer.from_memory
    assert session.agent.backend.protocol == ""


def test_the_passage_that_the_search_finds_stands_beside_the_answer_and_in_no_prompt() -> None:
    model = Model(calls=False)
    with model.served() as url:
        session, events = asked(url, calls="schema")
        (hit,) = Search(session.library, session.embedder()).find(QUESTION, 1)
        assert isinstance(events[-1], Answered)
        assert events[-1].passage == f"{hit.text} [{hit.article.slug}]"
        assert jsonl.event_fields(events[-1], session.agent.ledger.call_of(events[-1]))["passage"] == events[-1].passage
        *_, again = session.ask("Does it save tokens?")
        leaning = Search(session.library, session.embedder()).find("Does it save tokens?", 1, QUESTION)[0]
        assert again.passage == f"{leaning.text} [{leaning.article.slug}]"  # type: ignore[union-attr]
        said = [one.content for one in session.agent.history if one.role == "assistant" and not one.calls]
        assert said == [f"{model.says} [observation-masking]"] * 2
        sent = [message["content"] for message in model.chats[-1]["messages"] if message["role"] == "assistant"]
        assert sent.count(json.dumps({"answer": model.says})) == 1, "the first answer, without source and passage"


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
        kept = [line.record for line in lines.read_lines(path.read_bytes())[0] if isinstance(line.record, Answered)]
        assert [one.passage for one in kept] == [answered.passage] != [""]  # type: ignore[union-attr]
        settings, journal, past = folder.reopen_session(settings, path)
        again = Session(settings, journal, past)
        assert again.agent.ledger.from_memory
        for model.says, from_memory in ((read, False), ("Needles rust.", True)):
            *_, answered = again.ask("Hm?")
            assert answered.from_memory is from_memory  # type: ignore[union-attr]
        again.leave()


@pytest.mark.parametrize(("given", "sent"), [(0.0, 0.0), (0.7, 0.7), (None, None)])
def test_a_reply_is_asked_for_at_temperature_0_unless_it_is_set(given: float | None, sent: float | None) -> None:
    model = Model()
    with model.served() as url:
        asked(url, temperature=given)
    assert [chat["options"].get("temperature") for chat in model.chats] == [sent] * 2
    assert Settings().temperature == 0
