"""/context and /why in real sessions: every strategy, every moment, drawn and plain."""

from __future__ import annotations

import copy

import pytest
from rich.cells import cell_len

from tests.repl.screen.test_sanitise import FORBIDDEN
from tests.support.family import family
from tests.support.histories import react_history
from tests.support.sessions import Paper, ask, scripted, tool_call
from thimble.agent.errors import UsageError
from thimble.repl.commands.context.message import changed_lines
from thimble.repl.commands.table import run_command
from thimble.session.session import Session
from thimble.strategies.table import STRATEGIES

PAGES = ("/context", "/context next", "/context 1", "/context 2-5", "/context raw", "/why 1", "/why 2")


def shown(session: Session, text: str, width: int = 80, drawn: bool = True) -> str:
    paper = Paper(width, drawn)
    run_command(session, text, paper.console)
    assert not FORBIDDEN.search(paper.text.replace("\n", ""))
    if drawn and "raw" not in text:
        assert max(map(cell_len, paper.lines)) <= width
    return paper.text


def long_session(spec: str, budget: int = 4_000) -> Session:
    """Three questions, each with a look at an article, and whatever the strategy asks meanwhile."""

    def say(messages: object, tools: object) -> object:
        asked = list(messages)  # type: ignore[call-overload]
        if not tools or asked[-1].role == "tool" or "Summar" in asked[0].content:
            return "It hides old results [observation-masking]."
        return [tool_call("read_article", len(asked), slug="observation-masking", page=1)]

    session = scripted(*[say] * 400, strategy=spec, budget=budget)  # type: ignore[list-item]
    for number in range(3):
        ask(session, f"What is observation masking, once more, for the {number}th time?")
    return session


@pytest.mark.parametrize("spec", family(STRATEGIES, "observation-masking", "hybrid"))
def test_every_page_can_be_shown_under_every_strategy(spec: str) -> None:
    session = long_session(spec, 5_000)
    view = session.agent.ledger.view
    assert view is not None
    assert spec == "none" or set(view.fates) != {"kept"}
    before = copy.deepcopy((session.agent.history, getattr(session.agent.strategy, "state", None)))
    ledger = len(session.agent.ledger.calls)
    for drawn in (True, False):
        for width in (80, 120):
            for page in PAGES:
                shown(session, page, width, drawn)
        for number in range(1, len(view.history) + 1):
            assert f"message {number} (" in shown(session, f"/why {number}", drawn=drawn)
        for number in range(1, len(view.inserted) + 1):
            assert ", inserted, 0 → " in shown(session, f"/why +{number}", drawn=drawn)
            shown(session, f"/context +{number}", drawn=drawn)
    after = (session.agent.history, getattr(session.agent.strategy, "state", None))
    assert after == before, "a look changes nothing"
    assert len(session.agent.ledger.calls) == ledger


def test_context_after_each_swap() -> None:
    session = long_session("observation-masking:when=always,window=0")
    session.use_strategy("sliding-window")
    assert "· observation-masking:when=always" in shown(session, "/context", 120), "it is still of the last call"
    assert "next call · sliding-window · " in shown(session, "/context next", 120)
    session.use_model("reader")
    text = shown(session, "/context", 120)
    view = session.agent.ledger.view
    assert view is not None
    assert f"~{view.tokens:,}/4,000" in text, "what another model counts is an estimate of what was counted then"
    session.use_budget(900)
    with pytest.raises(UsageError, match=r"the next prompt needs [\d,]+ tokens and the budget holds 900"):
        shown(session, "/context next")
    session.reset()
    session.use_budget(8_000)
    assert shown(session, "/context").startswith("next call · sliding-window")


def test_of_a_shortened_message_it_shows_the_lines_that_changed() -> None:
    before = "\n".join(f"line {n}" for n in range(20))
    after = before.replace("line 9\nline 10\n", "[2 lines are gone]\n").replace("line 1\n", "\x1b[31mline 1  \x1b[0m\n")
    assert changed_lines(before, after) == [
        "…", "  line 7", "  line 8", "- line 9", "- line 10", "+ [2 lines are gone]", "  line 11", "  line 12",
    ]  # fmt: skip
    assert changed_lines("one\ntwo", "three") == []


@pytest.mark.parametrize("height", [24, 60])
def test_the_strip_stays_on_the_screen(height: int) -> None:
    session = scripted("One.", budget=8_000)
    session.agent.state.history = [*session.agent.history, *react_history(60, 30)]
    ask(session)
    paper = Paper(80, height=height)
    run_command(session, "/context", paper.console)
    assert paper.lines[0].startswith("last call")
    assert len(paper.lines) <= max(24, height) - len(["blank", "prompt", "toolbar"])
    assert "share a row; /context 2-" in paper.text


def test_the_last_turn_keeps_the_tool_schemas_and_runs_no_call() -> None:
    session = scripted([tool_call("list_articles")], "So.", max_turns=2)
    ask(session)
    assert "tool schemas" in shown(session, "/context")
    assert "a call would not be run any more" in shown(session, "/why +1", 120)
