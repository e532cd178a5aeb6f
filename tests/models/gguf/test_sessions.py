"""Whole sessions with a model on this machine: llama.cpp's own server, a tiny model, and no other server."""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from tests.models.gguf.conftest import Local, children, eventually
from tests.servers import saying
from tests.support.family import family
from thimble.agent.errors import ModelError
from thimble.agent.events import Answered, Prepared, Replied, ReplyPiece, ToolCalled, ToolReturned
from thimble.agent.protocols import Sent, Waiting
from thimble.session.session import Session

Kind = TypeVar("Kind")


def only(kind: type[Kind], events: Iterable[object]) -> list[Kind]:
    return [event for event in events if isinstance(event, kind)]


@pytest.fixture
def session(local: Local) -> Iterator[Session]:
    session = local.open()
    yield session
    session.leave()
    assert children() == []


def test_a_question_is_answered_with_the_tools_and_counted_and_cached(session: Session, local: Local) -> None:
    assert children() == [], "nothing is started before it is asked"
    asked = [list(session.ask(question.text)) for question in local.questions]
    for question, events in zip(local.questions, asked, strict=True):
        assert [event.call.name for event in only(ToolCalled, events)] == ["list_articles", "read_article"]
        assert question.answer in only(Answered, events)[0].text
        for prepared, replied in zip(only(Prepared, events), only(Replied, events), strict=True):
            assert prepared.exact
            assert prepared.view.tokens == pytest.approx(replied.usage.prompt_tokens, rel=0.02)
    waited = [[waiting.what for waiting in only(Waiting, events)] for events in asked]
    assert waited == [["loading tiny.gguf"], [], []]
    for call in session.agent.ledger.calls[1:]:
        assert call.shared - 1 <= (call.cached.tokens or 0) < (call.prompt.tokens or 0)
    assert session.notices == []


def test_the_key_is_nowhere_but_in_memory_and_nobody_without_it_is_answered(session: Session, local: Local) -> None:
    events = list(session.ask(local.questions[0].text))
    rendered = session.agent.backend.rendered(session.agent.history, ())
    assert (rendered or "").startswith("<|im_start|>system")
    child = session.agent.backend.inner._child  # type: ignore[attr-defined]
    (process,) = children()
    assert len(child.key) > 40
    assert child.key not in "".join(sent.to + sent.body for sent in only(Sent, events))
    for name in ("cmdline", "environ", "fd/2"):
        assert child.key.encode() not in Path(f"/proc/{process}/{name}").read_bytes()
    assert child.url.startswith("http://127.0.0.1:")
    refused = httpx.post(f"{child.url}/v1/chat/completions", json={"messages": []}, trust_env=False)
    assert refused.status_code == 401


def test_a_model_that_is_killed_in_a_reply_is_told_of_and_loaded_anew(
    local: Local, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("thimble.agent.reply.REPETITION_ROUNDS", 10**6)
    file = tmp_path / "endless.gguf"
    saying.write(file, "A thimble holds two millilitres. ", ends=False)
    session = local.open(model=str(file), budget=6000)  # a token is a byte to it
    for _ in range(2):
        asked = session.ask("How much?")
        assert only(Waiting, [next(event for event in asked if isinstance(event, Waiting))])
        next(event for event in asked if isinstance(event, ReplyPiece))
        (process,) = children()
        os.kill(process, signal.SIGKILL)
        with pytest.raises(ModelError, match=r"endless\.gguf stopped: killed by SIGKILL") as caught:
            list(asked)
        assert caught.value.fix == "ask again: the model is loaded again"
        assert not [*Path(tempfile.gettempdir()).iterdir()]
        assert session.agent.history[-1].content == "How much?"
    session.leave()


def test_one_that_is_killed_between_two_questions_is_loaded_anew(session: Session, local: Local) -> None:
    first, second = local.questions[:2]
    list(session.ask(first.text))
    (process,) = children()
    os.kill(process, signal.SIGKILL)
    assert eventually(session.agent.backend.inner._child.has_ended)  # type: ignore[attr-defined]
    events = list(session.ask(second.text))
    assert second.answer in only(Answered, events)[0].text
    assert all(prepared.exact for prepared in only(Prepared, events))
    assert children() != [process]


def test_a_reply_that_is_cancelled_leaves_the_model_running(session: Session, local: Local) -> None:
    list(session.ask(local.questions[0].text))
    before, events = children(), session.ask(local.questions[1].text)
    next(event for event in events if isinstance(event, ReplyPiece))
    events.close()
    assert local.questions[1].answer in only(Answered, session.ask(local.questions[1].text))[0].text
    assert children() == before


def test_a_larger_budget_starts_it_anew_with_more_room(local: Local) -> None:
    session = local.open(budget=1300)
    list(session.ask(local.questions[0].text))
    first = children()
    session.use_budget(1250)
    assert only(Waiting, session.ask(local.questions[1].text)) == [], "there was room for 1300 from the beginning"
    assert children() == first
    session.use_budget(2000)
    events = list(session.ask(local.questions[2].text))
    assert [waiting.what for waiting in only(Waiting, events)] == ["loading tiny.gguf"]
    assert children() != first
    assert len(children()) == 1
    session.leave()


@pytest.mark.nightly
def test_a_budget_beyond_what_it_was_trained_for_is_told_once(local: Local) -> None:
    session = local.open(budget=9000)
    list(session.ask(local.questions[0].text))
    (notice,) = session.notices
    assert "holds 8,192 tokens" in notice
    assert "/budget 6144" in notice
    assert "start the server" not in notice
    session.leave()


@pytest.mark.nightly
def test_a_summariser_of_the_same_file_is_the_same_process(local: Local) -> None:
    session = local.open(summariser=str(local.model))
    summariser: Any = session.agent.side.backend
    list(session.ask(local.questions[0].text))
    list(summariser.stream(session.agent.history, ()))
    assert len(children()) == 1
    session.leave()
    assert children() == []


def test_a_session_goes_on_with_its_model_from_another_folder(
    local: Local, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(local.model.parent)
    session = local.open(model=local.model.name)
    assert session.agent.backend.model == str(local.model)
    session.leave()
    monkeypatch.chdir(tmp_path)
    assert local.open(model=session.agent.backend.model).agent.backend.id == session.agent.backend.id


@pytest.mark.parametrize("strategy", family(["observation-masking", "hybrid"]))
def test_calls_by_schema_are_valid(local: Local, strategy: str) -> None:
    session = local.open(calls="schema", strategy=strategy, max_turns=4, budget=4000)
    for question in local.questions[:2]:
        events = list(session.ask(question.text))
        returned = only(ToolReturned, events)
        assert returned, "it looked something up"
        assert all(event.call.name in session.agent.tools for event in returned)
        assert not any("Call it as" in event.message.content for event in returned)
        assert all(one.call.name != other.call.name for one, other in pairwise(returned)), "no tool twice in a row"
        assert only(Answered, events)[0].ending in ("answered", "refused", "turn-limit", "empty")
        assert all(prepared.view.tokens <= 4000 or strategy == "none" for prepared in only(Prepared, events))
    assert session.agent.backend.protocol == "calls by schema"
    session.leave()
