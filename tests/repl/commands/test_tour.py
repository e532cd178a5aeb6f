from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.support.scripted import Reply
from tests.support.sessions import Paper, ask, scripted, tool_call, type_command
from thimble.agent.errors import ThimbleError
from thimble.agent.messages import Message, Schema
from thimble.commands.tour import TOUR_CHECKS, TOURS, Tour, tour_of
from thimble.repl.cli.headless import offered_line
from thimble.repl.commands.table import run_command
from thimble.repl.commands.tour import advance_tour
from thimble.session.journal.folder import reopen_session
from thimble.session.journal.journal import Journal
from thimble.session.session import Session
from thimble.session.settings import Settings

SLUG = "context-windows"
TYPED = st.one_of(
    st.sampled_from(
        [
            *("", "/tour", "/tour skip", "/tour hour", "/tour stop", "/tour nowhere", "/context", "/undo", "/reset"),
            *("/plant The code is 7.", "/predict all", "/strategy none", "/budget 5000", "/why 3", "/fork none"),
            *("/probe", "/retry", "Read on.", "/"),
        ]
    ),
    st.text(max_size=12),
)


def reads(messages: Sequence[Message], tools: Sequence[Schema]) -> Reply:
    """A model that reads an article for each question, then answers."""
    return tool_call("read_article", slug=SLUG) if messages[-1].role == "user" else "So it is."


def reading(**rest: object) -> Session:
    """A session with that model."""
    return scripted(*[reads] * 200, **rest)


def types(session: Session, text: str, paper: Paper) -> list[str]:
    """Send a line as a conversation does, an empty one as Enter; the questions that were asked by it."""
    text = text.strip() or offered_line(session)
    question = type_command(session, text, paper.console) if text.startswith("/") else text
    asked = [question] if question else []
    for one in asked:
        try:
            ask(session, one)
        except ThimbleError:
            asked = []
    if tour_of(session):
        advance_tour(session, paper.console)
    return asked


# ---- the tables ----


@pytest.mark.parametrize("name", TOURS)
def test_a_step_waits_for_checks_that_there_are_and_fits_the_screen(name: str) -> None:
    for step in Tour(name).steps:
        assert step.seen
        assert {check.partition(" ")[0] for check in step.seen} <= {*TOUR_CHECKS}
        assert step.line.strip() == step.line != ""
        assert len(step.say) < 6 * 78
        assert len(step.after) < 4 * 78


# ---- the law ----


@settings(max_examples=25, deadline=None)
@given(st.lists(TYPED, max_size=12))
@example(["/tour", "", "/tour stop", ""])
@example(["/tour strategies", *[""] * 12])
def test_whatever_is_typed_the_tour_goes_on_or_waits_and_sends_nothing_by_itself(typed: list[str]) -> None:
    session, paper, sent = reading(), Paper(), 0
    model = session.agent.backend
    run_command(session, "/tour", paper.console)
    advance_tour(session, paper.console)
    for text in typed:
        was = tour_of(session)
        before, requests = (was.at, was.name) if was else (0, ""), len(model.requests)
        line = text.strip() or offered_line(session)
        asked = types(session, text, paper)
        if not asked and not line.startswith(("/probe", "/compare", "/retry")):
            assert len(model.requests) == requests, "a model is asked only what the user sends"
        sent += len(asked)
        here = tour_of(session)
        assert here is None or here.step
        if here and before[1] == here.name and not line.startswith("/tour"):
            assert here.at >= before[0]
        if here:
            shown = len(paper.text)
            advance_tour(session, paper.console)
            assert paper.text[shown:].startswith("The tour waits for "), "it waits, and says for what, in one line"


# ---- it is resumed ----


def test_a_session_that_was_left_in_the_middle_goes_on_there(tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    session, paper = Session(Settings(backend="reader", session_dir=tmp_path), Journal(path)), Paper()
    for text in ("/tour hour", "", "", "", ""):
        types(session, text, paper)
    there = tour_of(session)
    assert there
    assert there.at == 4
    types(session, "/fork 0 none", paper)
    session.leave()
    again = Session(*reopen_session(Settings(backend="reader", session_dir=tmp_path), path))
    assert tour_of(again)
    assert (tour_of(again).name, tour_of(again).at) == ("hour", 4), "on whatever branch"
    types(again, "/tour stop", paper)
    again.leave()
    last = Session(*reopen_session(Settings(backend="reader", session_dir=tmp_path), path))
    assert tour_of(last) is None
    last.leave()
