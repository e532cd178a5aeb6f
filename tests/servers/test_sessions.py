"""Whole sessions against real servers: what they do, count, have cached, cancel and survive."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable
from itertools import groupby
from typing import TypeVar

import pytest

from tests.servers.conftest import Sessions, eventually
from tests.servers.serve import BLOCK, ROOT, Server
from tests.support.scripted_server import NOT_FOUND, RESETS, Answer, front, passes, rate_limited, says
from thimble.agent.errors import ModelError
from thimble.agent.events import Answered, Event, Prepared, Replied, ReplyPiece, ToolCalled, ToolReturned
from thimble.agent.protocols import Sent, Waiting
from thimble.session.session import Session
from thimble.session.settings_table import AUTO

Kind = TypeVar("Kind")
ALIKE = 0.02
CLOSED = {"/tokenize": NOT_FOUND, "/apply-template": NOT_FOUND}
ENDLESS_TOKENS = {"vllm": 50_000, "llama": 7_000}


def only(kind: type[Kind], events: Iterable[object]) -> list[Kind]:
    return [event for event in events if isinstance(event, kind)]


def kinds(events: Iterable[Event]) -> list[str]:
    """What happened, the pieces of a reply as one; that a request went out, which the reader has none of, left out."""
    told = (type(event).__name__ for event in events if not isinstance(event, Sent))
    return [name for name, _ in groupby(told)]


def replies(events: Iterable[Event]) -> list[tuple[str, list[tuple[str, str]]]]:
    messages = [event.message for event in only(Replied, events)]
    return [(message.content, [(call.name, call.arguments) for call in message.calls]) for message in messages]


def is_answered(session: Session, sessions: Sessions) -> bool:
    """Whether the session answers a question, as every session does that is intact."""
    question = sessions.questions[-1]
    return question.answer in only(Answered, session.ask(question.text))[0].text


def failure(session: Session, question: str) -> ModelError:
    """What a user is told, in one line what is wrong and in one how to mend it."""
    with pytest.raises(ModelError) as caught:
        list(session.ask(question))
    assert "\n" not in caught.value.what + caught.value.fix
    assert caught.value.fix
    return caught.value


# ---- the loop ----


def test_a_session_has_the_same_events_with_the_reader_and_with_each_server(
    sessions: Sessions, vllm_server: Server, llama_server: Server
) -> None:
    reader, first, second = map(sessions.open, (None, vllm_server, llama_server))
    for question in sessions.questions[:3]:
        expected = kinds(reader.ask(question.text))
        assert kinds(first.ask(question.text)) == expected
        assert kinds(second.ask(question.text)) == expected


def test_calls_by_schema_are_valid(sessions: Sessions, server: Server) -> None:
    for question in sessions.questions[:2]:
        session = sessions.open(server, calls="schema", max_turns=4, budget=6000)
        events = list(session.ask(question.text))
        returned = only(ToolReturned, events)
        assert returned, "it looked something up"
        assert {event.call.name for event in returned} <= {*session.agent.tools}, [event.call for event in returned]
        assert not any("Call it as" in event.message.content for event in returned)
        assert only(Answered, events)[0].ending in ("answered", "refused", "turn-limit", "empty")
        assert session.agent.backend.protocol == "calls by schema"


def test_questions_are_answered_with_the_tools(sessions: Sessions, server: Server) -> None:
    session = sessions.open(server)
    for question in sessions.questions:
        events = list(session.ask(question.text))
        assert [event.call.name for event in only(ToolCalled, events)] == ["list_articles", "read_article"]
        assert all(event.ok for event in only(ToolReturned, events))
        (answered,) = only(Answered, events)
        assert question.answer in answered.text
        assert f"[{question.slug}]" in answered.text


def test_a_reply_comes_in_pieces_or_whole_and_is_the_same(sessions: Sessions, server: Server) -> None:
    question = sessions.questions[0].text
    pieces, whole = (list(sessions.open(server, stream=stream).ask(question)) for stream in (True, False))
    assert len(only(ReplyPiece, pieces)) > 10
    assert len(only(ReplyPiece, whole)) == 3
    assert replies(pieces) == replies(whole)


def test_the_closing_turn_keeps_the_cache_and_runs_no_call(sessions: Sessions, server: Server) -> None:
    """Behind a list by meaning this model calls, though it is told not to: in words, or in a call that is not run."""
    session = sessions.open(server, max_turns=2, temperature=0.0, seed=7, embeddings=AUTO)
    events = list(session.ask(sessions.questions[0].text))
    first, last = only(Replied, events)
    assert last.usage.cached_tokens >= first.usage.prompt_tokens - BLOCK
    assert only(Answered, events)[0].ending == "turn-limit"
    assert [event.ok for event in only(ToolReturned, events)] == [True, *(False for _ in last.message.calls)]


# ---- tokens ----


def test_tokens_are_counted_as_the_server_counts_them(sessions: Sessions, server: Server) -> None:
    session = sessions.open(server)
    events = [event for question in sessions.questions[:3] for event in session.ask(question.text)]
    prepared, replied = only(Prepared, events), only(Replied, events)
    assert all(event.exact for event in prepared)
    assert [event.view.tokens for event in prepared] == [event.usage.prompt_tokens for event in replied]


def test_estimates_are_within_two_percent_after_the_first_reply(sessions: Sessions, server: Server) -> None:
    with front(paths=CLOSED, otherwise=passes(server.url)) as found:
        session = sessions.open(server, found.url)
        events = [event for question in sessions.questions[:3] for event in session.ask(question.text)]
    prepared, replied = only(Prepared, events), only(Replied, events)
    assert not any(event.exact for event in prepared)
    for before, after in list(zip(prepared, replied, strict=True))[1:]:
        assert before.view.tokens == pytest.approx(after.usage.prompt_tokens, rel=ALIKE)


def test_cached_tokens_are_the_server_s_and_what_the_views_had_in_common(sessions: Sessions, server: Server) -> None:
    session, before = sessions.open(server), server.cached()
    for question in sessions.questions[:3]:
        list(session.ask(question.text))
    calls = session.agent.ledger.calls
    assert sum(call.cached.tokens or 0 for call in calls) == server.cached() - before
    for call in calls[1:]:
        assert call.cached.tokens == pytest.approx(call.shared, abs=BLOCK)


def test_cached_tokens_that_vllm_does_not_report_are_not_known(sessions: Sessions, bare_vllm: Server) -> None:
    session = sessions.open(bare_vllm, max_turns=1)
    session.agent.max_output = 8
    for question in sessions.questions[:2]:
        list(session.ask(question.text))
    assert [call.usage.cached_tokens for call in session.agent.ledger.calls] == [None, None]


# ---- a user who has enough ----


def test_a_reply_that_is_cancelled_is_computed_no_further(sessions: Sessions, endless: Server) -> None:
    session, before = sessions.open(endless, max_turns=1), endless.generated()
    session.agent.max_output = tokens = ENDLESS_TOKENS[endless.name]
    events = session.ask(sessions.questions[0].text)
    next(event for event in events if isinstance(event, ReplyPiece))
    events.close()
    assert eventually(lambda: endless.computing() == 0)
    assert endless.generated() - before < tokens
    assert [message.role for message in session.agent.history] == ["system", "user"]
    session.agent.max_output = 8
    assert only(Replied, session.ask(sessions.questions[0].text))


# ---- what servers refuse ----


UNKNOWN = {**CLOSED, "/v1/models": says("200 OK", b'{"data":[{"id":"tiny"}]}'), "/props": NOT_FOUND}
"""What a server keeps to itself that tells neither how it counts nor how much it holds."""


@pytest.mark.parametrize(
    ("hidden", "what"), [({}, "leaves no room for a reply"), (UNKNOWN, "longer than the model's context")]
)
def test_a_prompt_longer_than_the_context_is_refused_and_the_session_goes_on(
    sessions: Sessions, server: Server, hidden: dict[str, Answer], what: str
) -> None:
    with front(paths=hidden, otherwise=passes(server.url)) as found:
        session = sessions.open(server, found.url, budget=20_000)
        assert is_answered(session, sessions)
        asked = len(found.asked)
        assert what in failure(session, "7" * 9000).what
        assert len(found.asked) == asked + bool(hidden)
        session.use_budget(6000)
        assert is_answered(session, sessions)


def test_vllm_without_a_parser_is_asked_by_schema(sessions: Sessions, bare_vllm: Server) -> None:
    session = sessions.open(bare_vllm, max_turns=3)
    session.agent.max_output = 16
    asked = [list(session.ask(question.text)) for question in sessions.questions[:2]]
    assert getattr(session.agent.backend, "protocol", "") == "calls by schema"
    assert any("calls by schema" in notice for notice in session.notices)
    prepared, replied = only(Prepared, asked[1])[0], only(Replied, asked[1])[0]
    assert prepared.view.tokens == pytest.approx(replied.usage.prompt_tokens, rel=ALIKE)


def test_a_missing_model_and_a_wrong_key_are_told(
    sessions: Sessions, vllm_server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "tiny" in failure(sessions.open(vllm_server, model="other"), "Anything?").fix
    monkeypatch.setenv("THIMBLE_API_KEY", "sk-wrong-one")
    told = failure(sessions.open(vllm_server), "Anything?")
    assert "(401" in told.what
    assert "THIMBLE_API_KEY" in told.fix


# ---- what goes wrong on the way ----


@pytest.mark.parametrize("trouble", [rate_limited(0), (RESETS,)], ids=["429", "connection lost"])
def test_before_the_first_token_it_is_asked_again(sessions: Sessions, server: Server, trouble: Answer) -> None:
    through = passes(server.url)
    with front(trouble, through, otherwise=through) as found:
        session = sessions.open(server, found.url)
        question = sessions.questions[0]
        events = list(session.ask(question.text))
    assert len(only(Waiting, events)) == 1
    assert question.answer in only(Answered, events)[0].text
    assert len(found.asked) == 4


def test_a_stream_that_stops_in_the_middle_of_a_call(sessions: Sessions, server: Server) -> None:
    through = passes(server.url)
    with front(passes(server.url, b'"arguments":', RESETS), through, otherwise=through) as found:
        session = sessions.open(server, found.url)
        assert "stopped in the middle" in failure(session, sessions.questions[0].text).what
        assert len(found.asked) == 1
        assert [message.role for message in session.agent.history] == ["system", "user"]
        assert is_answered(session, sessions)


# ---- the command line ----


def test_an_answer_alone_is_printed(sessions: Sessions, server: Server) -> None:
    question = sessions.questions[0]
    command = [sys.executable, "-m", "thimble", "--backend", "vllm" if server.name == "vllm" else "openai"]
    command += ["--base-url", server.url, "--corpus", str(sessions.corpus), "-p", question.text]
    run = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600)
    answer = f"For {question.subject}, the {question.attribute} is {question.answer} [{question.slug}].\n"
    assert (run.returncode, run.stdout) == (0, answer)
