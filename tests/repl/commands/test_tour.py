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
from thimble.commands.tour import TOUR_CHECKS, TOURS, Tour, put_on, tour_of
from thimble.repl.cli.headless import offered_line
from thimble.repl.commands.table import run_command
from thimble.repl.commands.tour import guide
from thimble.session.journal.folder import reopened
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
        guide(session, paper.console)
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


@pytest.mark.parametrize("name", TOURS)
@pytest.mark.parametrize("term", ["mask", "prefill", "turn", "view", "edit"])
def test_a_term_is_said_first_where_it_is_explained(name: str, term: str) -> None:
    explained = {
        "mask": ("one short line stands in the place", "puts one short line in the place", "a short line stands in"),
        "prefill": ("computes anew", "is computed anew"),
        "turn": ("call of the model", "One call with its results is a turn"),
        "view": ("what one call gets", "the part that one call gets", "a view is not the history"),
        "edit": ("That was an edit", "act of the strategy before", "EDIT before a call says", "an edit, a change of"),
    }[term]
    told = [f"{step.say} {step.after}" for step in Tour(name).steps]
    first = next((text for text in told if f" {term}" in f" {text.lower()}"), "")
    assert not first or any(words.lower() in first.lower() for words in explained), first


# ---- the law ----


@settings(max_examples=25, deadline=None)
@given(st.lists(TYPED, max_size=12))
@example(["/tour", "", "/tour stop", ""])
@example(["/tour strategies", *[""] * 12])
def test_whatever_is_typed_the_tour_goes_on_or_waits_and_sends_nothing_by_itself(typed: list[str]) -> None:
    session, paper, sent = reading(), Paper(), 0
    model = session.agent.backend
    run_command(session, "/tour", paper.console)
    guide(session, paper.console)
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
            guide(session, paper.console)
            assert paper.text[shown:].startswith("The tour waits for "), "it waits, and says for what, in one line"


# ---- what was seen ----


def at(session: Session, check: str) -> None:
    """Put the session on a step that waits for this alone."""
    made = Tour("context")
    made.steps = [type(made.steps[0])("Look.", "/stats", [check])]
    put_on(session, made)


SEEN = {
    "answered": ["What?"],
    "used read_article": ["Read."],
    "ran stats": ["/stats"],
    "strategy-is offload": ["/strategy offload:window=1"],
    "budget-is 5000": ["/budget 5,000"],
    "edit-seen": ["Read.", "/strategy observation-masking:window=0,when=always", "And again."],
    "over-budget": ["/strategy none", "/budget 1100", "Read.", "Read."],
    "planted": ["/plant The code is 7."],
    "guessed": ["/plant The code is 7.", "/predict none"],
    "probe-missed": ["/plant The door code is 7431.", "/probe"],
    "forked": ["Read.", "/fork none"],
}
"""What leads to each check, the last line of it."""


@pytest.mark.parametrize("check", SEEN)
def test_a_step_is_seen_by_what_happened(check: str) -> None:
    session, paper = reading(), Paper()
    *before, last = SEEN[check]
    for text in before:
        types(session, text, paper)
    at(session, check)
    here = tour_of(session)
    types(session, "/strategy", paper)
    assert tour_of(session) is here or check in ("planted", "over-budget"), "what is not so yet is waited for"
    types(session, last, paper)
    assert tour_of(session) is None
    assert "That was the tour" in paper.text


def test_a_failed_command_is_not_seen() -> None:
    session, paper = reading(), Paper()
    at(session, "ran why")
    types(session, "/why 99", paper)
    assert tour_of(session)
    assert "The tour waits for" not in paper.text, "the step is said in full first"
    types(session, "/why 99", paper)
    assert paper.lines[-1] == "The tour waits for the table of /why · back: /tour (skip, stop)"


def test_a_step_that_is_so_already_is_passed_over_in_a_line() -> None:
    session, paper = reading(), Paper()
    for text in ("/strategy observation-masking", "/tour", ""):
        types(session, text, paper)
    assert "Step 2 of 11 is so already: /strategy observation-masking" in paper.lines
    assert "Step 1 of 11 is so already" not in paper.text


# ---- the command ----


def test_the_lines_of_a_tour_name_the_messages_of_this_session() -> None:
    session, paper = reading(), Paper()
    for text in ("What?", "/plant The code is 7."):
        types(session, text, paper)
    here = Tour("hour")
    here.at = next(place for place, step in enumerate(here.steps) if step.line == "/why {planted}")
    number = next(at for at, one in enumerate(session.agent.history, 1) if one.id == session.planted[0].holder.id)
    assert here.line(session) == f"/why {number}"


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
    again = Session(*reopened(Settings(backend="reader", session_dir=tmp_path), path))
    assert tour_of(again)
    assert (tour_of(again).name, tour_of(again).at) == ("hour", 4), "on whatever branch"
    types(again, "/tour stop", paper)
    again.leave()
    last = Session(*reopened(Settings(backend="reader", session_dir=tmp_path), path))
    assert tour_of(last) is None
    last.leave()
