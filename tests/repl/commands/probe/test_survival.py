from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import pyte
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.repl.commands.probe.test_probe import QUESTIONS, kept, planted, reading
from tests.repl.screen.test_sanitise import FORBIDDEN, NASTY
from tests.support.histories import TinyCounter
from tests.support.scripted import Scripted
from tests.support.sessions import Paper, ask, scripted
from thimble.agent.events import Prepared
from thimble.agent.messages import Message
from thimble.repl.commands.probe.probe import stands
from thimble.repl.commands.probe.survival import cells, description, show_survival, strategies, survive
from thimble.repl.commands.table import run_command
from thimble.session.session import Session
from thimble.strategies.table import STRATEGIES, asks_a_model

MOVES = re.compile(r"\x1b\[(?:[\d;]*m|\?25[lh]|2K|1A)|\r")
"""What rich itself writes for a style, or for what moves."""
SILENT = [name for name, kind in STRATEGIES.items() if not asks_a_model(kind)]


@pytest.mark.parametrize("name", SILENT)
def test_a_replay_marks_the_calls_as_they_really_were(name: str) -> None:
    session = reading(name, budget=2_000, asked=0)
    views = [event.view for q in QUESTIONS for event in ask(session, q) if isinstance(event, Prepared)]
    before = kept(session)
    (found,) = survive(session, session.spec, session.planted)
    assert kept(session) == before
    assert [mark in ("stands", "over") for mark in found.marks[:-1]] == [stands(v, session.planted[0]) for v in views]
    assert [mark == "over" for mark in found.marks[:-1]] == [
        stands(view, session.planted[0]) and view.tokens > view.limit for view in views
    ]
    for number, fate in found.changes:
        assert number == len(found.marks) or views[number - 1].fates[3] == fate


def test_each_fact_counts_from_its_own_planting() -> None:
    session = reading("sliding-window", asked=1)
    planted(session, "Ada moved to Lyon.")
    ask(session, QUESTIONS[1])
    code, ada = survive(session, "none", session.planted)
    asked = len(session.agent.ledger.of_exchange(1))
    assert len(code.marks) == len(ada.marks) + 2 + asked
    assert (code.stood, ada.stood) == (len(code.marks), len(ada.marks))


def test_a_call_that_the_budget_cannot_hold_is_marked() -> None:
    session = reading("truncate", budget=2_000, asked=1)
    session.agent.state.limit = 500
    (found,) = survive(session, "truncate", session.planted)
    assert set(found.marks) == {"refused"}
    assert description(found) == "0 of 3 calls · 3 too large to send"


def test_the_one_in_use_comes_first_and_none_is_asked_that_asks_a_model() -> None:
    assert strategies(scripted(strategy="notes"))[:2] == ["notes", "none"]
    assert strategies(scripted(strategy="offload:share=0.2+truncate"))[:2] == ["offload:share=0.2+truncate", "none"]
    for spec in ("llm-summary", "offload+hybrid"):
        assert strategies(scripted(strategy=spec)) == SILENT


@given(st.lists(st.sampled_from(["stands", "gone", "over"]), max_size=200), st.integers(1, 40))
def test_cells_never_claim_more_than_the_calls(marks: Sequence[str], columns: int) -> None:
    shown = list(cells(marks, columns))
    assert len(shown) == min(len(marks), columns)
    assert set(shown) <= {*marks, "partly"}
    if len(marks) <= columns:
        assert shown == list(marks)


def charted(session: Session, width: int, drawn: bool = True) -> Sequence[str]:
    paper = Paper(width, drawn)
    show_survival(session, session.planted, paper.console)
    screen = pyte.Screen(width, 60)
    pyte.Stream(screen).feed(paper.text.replace("\n", "\r\n"))
    return [row for row in map(str.rstrip, screen.display) if row]


@pytest.mark.parametrize("width", [80, 120])
def test_the_chart_is_a_row_a_strategy_within_the_width(width: int) -> None:
    session = reading(budget=2_000)
    lines = charted(session, width)
    assert [name for name in SILENT if any(name in line for line in lines)] == SILENT
    assert any("masked at" in line for line in lines)
    row = next(line for line in lines if line.startswith("  observation-masking ‹"))
    assert "███·" in row
    assert any("none" in line and "█!" in line for line in lines)
    assert any("█ stands" in line for line in lines[-4:])
    assert not any("--:--" in line for line in lines)


def test_in_plain_it_is_words_and_figures() -> None:
    session = reading(budget=2_000)
    (found,) = survive(session, session.spec, session.planted)
    assert 0 < found.stood < len(found.marks)
    told = f"{found.stood} of {len(found.marks)} calls · masked at call {found.stood + 1}"
    lines = charted(session, 120, drawn=False)
    assert any(line.startswith(f"  observation-masking (in use): {told}") for line in lines)
    assert not set("".join(lines)) & set("█▒─")


@dataclass
class Interrupted(TinyCounter):
    """A counter during whose work Ctrl-C is pressed."""

    left: int = 10**9

    def count(self, message: Message) -> int:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt
        return super().count(message)


@pytest.mark.parametrize("drawn", [True, False])
def test_ctrl_c_keeps_what_is_done(drawn: bool) -> None:
    session, counter, rows = reading(budget=2_000), Interrupted(), set()
    session.agent.use(Scripted([], counter))
    before = kept(session)
    for counts in itertools.count(1, 40):
        paper, counter.left = Paper(drawn=drawn), counts
        words = ""
        try:
            show_survival(session, session.planted, paper.console)
        except KeyboardInterrupt as stopped:
            words = str(stopped)
        done = len(re.findall(r"of \d calls", paper.text))
        if not words:
            break
        assert words == f"stopped: {done} of {len(SILENT)} strategies"
        rows.add(done)
    assert 0 in rows
    assert len(rows) >= 4
    assert kept(session) == before


@settings(max_examples=15)  # beside the corpus of payloads
@given(NASTY, NASTY)
def test_hostile_facts_and_answers_never_reach_the_terminal(fact: str, answer: str) -> None:
    session = scripted(*[answer] * 3, budget=4_000)
    for drawn in (True, False):
        paper = Paper(drawn=drawn)
        for command in (f"/plant {fact} x", "/probe", "/predict"):
            run_command(session, command, paper.console)
        assert not FORBIDDEN.search(MOVES.sub("", paper.text))
