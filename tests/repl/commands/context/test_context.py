"""/context and /why in real sessions: every strategy, every moment, drawn and plain."""

from __future__ import annotations

import copy
import re
from pathlib import Path

import pytest
from rich.cells import cell_len

from tests.repl.screen.test_sanitise import FORBIDDEN
from tests.support.family import family
from tests.support.histories import react
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
def test_every_strategy(spec: str) -> None:
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


def test_the_figures_are_those_of_the_view() -> None:
    session = long_session("observation-masking:when=always,window=0")
    view = session.agent.ledger.view
    assert view is not None
    text = shown(session, "/context", 120)
    assert f"last call: turn 2 of exchange 3 · observation-masking:when=always,window=0 · {view.tokens:,}/4,000" in text
    assert f"cached {view.cached:,} · prefill {view.prefill:,}" in text.splitlines()[0]
    assert f"was   {view.history_tokens:,} tokens: system " in text
    assert f" · {len(view.history) - 1} messages " in text
    plain = shown(session, "/context", drawn=False)
    assert f"sent  {view.tokens:,} of 4,000: system " in plain
    assert f" · free {4_000 - view.tokens:,}\n" in plain
    assert not set(plain) & set("█▓▒░═╌")
    assert plain.count("\n  ") >= len(view.history)


def test_why_says_the_rule_with_its_numbers() -> None:
    session = long_session("observation-masking:when=always,window=1")
    view = session.agent.ledger.view
    assert view is not None
    masked = view.fates.index("masked")
    row = f"message {masked + 1} (read_article), masked, "
    said = " ".join(shown(session, f"/why {masked + 1}").split())
    assert said.startswith(row)
    assert "older than the newest turn" in said
    assert "the system message is first in every view" in shown(session, "/why 1", 120)


def test_why_says_what_was_repaired(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "def prepare(messages, budget):\n    return [m for m in messages if m.role != 'tool']\n"
    )
    session = long_session(f"{tmp_path}/mine.py")
    said = " ".join(shown(session, "/why 1").split())
    assert said.endswith("repaired in this view: filled in the missing result of read_article")
    assert "its call has no result, and no server takes a call without one" in shown(session, "/why +1", 200)


def test_why_names_the_summary_that_stands_for_a_message() -> None:
    session = long_session("progressive-summary")
    view = session.agent.ledger.view
    assert view is not None
    gone = view.fates.index("summarised")
    assert "message +1 is sent in its place (" in shown(session, f"/why {gone + 1}", 200)
    assert "; it is sent in place of " in shown(session, "/why +1", 200)


def test_a_message_before_and_after() -> None:
    session = long_session("observation-masking:when=always,window=0")
    view = session.agent.ledger.view
    assert view is not None
    at = view.fates.index("masked")
    text = shown(session, f"/context {at + 1}", 120)
    assert "before, " in text
    assert "after, " in text
    assert "[masked" in text or "masked" in text.split("after, ")[1]
    assert f"the result of the call in message {at}: read_article" in text
    assert f"its result is message {at + 1}" in shown(session, f"/context {at}", 120)
    assert "unchanged, " in shown(session, "/context 1", 120)


def test_after_each_swap() -> None:
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


SESSION = long_session("observation-masking:when=always,window=0")


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        ("/why", "/why takes the number of a message", "write /why 12"),
        ("/why all", "/why takes the number of a message, not 'all'", "write /why 12"),
        ("/why 0", "there is no message 0", r"the last call has the messages 1 to 12; /context next"),
        ("/why 13", "there is no message 13", r"the last call has the messages 1 to 12; /context next"),
        ("/why +1", r"there is no message \+1", r"the last call has the messages 1 to 12; /context next"),
        ("/context 99", "there is no message 99", r"the last call has the messages 1 to 12; /context next"),
        ("/context 5-2", "5 is behind 2", "write /context 2-5"),
        ("/context 2-99", "there is no message 99", r"1 to 12"),
        ("/context all", "/context cannot show 'all'", "write /context, /context next"),
    ],
)
def test_what_cannot_be_shown_is_refused(text: str, what: str, fix: str) -> None:
    with pytest.raises(UsageError, match=what) as refused:
        shown(SESSION, text)
    assert re.search(fix, refused.value.fix)


@pytest.mark.parametrize("height", [24, 40, 60])
def test_the_strip_stays_on_the_screen(height: int) -> None:
    session = scripted("One.", budget=8_000)
    session.agent.state.history = [*session.agent.history, *react(60, 30)]
    ask(session)
    paper = Paper(80, height=height)
    run_command(session, "/context", paper.console)
    assert paper.lines[0].startswith("last call")
    assert len(paper.lines) <= max(24, height) - len(["blank", "prompt", "toolbar"])
    assert "share a row; /context 2-" in paper.text


@pytest.mark.parametrize("drawn", [True, False])
def test_on_the_last_turn_the_tool_schemas_stay(drawn: bool) -> None:
    session = scripted([tool_call("list_articles")], "So.", max_turns=2)
    ask(session)
    assert session.agent.ledger.prepared
    assert session.agent.ledger.prepared.tools
    paper = Paper(drawn=drawn)
    run_command(session, "/context", paper.console)
    assert "tool schemas" in paper.text


def test_why_says_that_the_last_turn_runs_no_call() -> None:
    session = scripted([tool_call("list_articles")], "So.", max_turns=2)
    ask(session)
    paper = Paper(120)
    run_command(session, "/why +1", paper.console)
    assert "a call would not be run any more" in paper.text
