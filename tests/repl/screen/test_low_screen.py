"""A screen of 24 rows: no answer of a command scrolls off, and `more` has all of it."""

from __future__ import annotations

import pytest

from repl.commands.table import obey
from repl.screen.pager import PROMPT_ROWS
from session.session import Session
from tests.support.sessions import Paper, ask, scripted, tool_call

SPECS = ["none", "observation-masking:when=always,window=0", "truncate", "offload"]


@pytest.fixture(scope="module")
def session() -> Session:
    """Twelve exchanges under four strategies."""
    steps = [step for n in range(12) for step in ([tool_call("read_article", n, slug="glossary", page=1)], "So it is.")]
    found = scripted(*steps, budget=9_000)
    for number in range(12):
        if number % 3 == 0:
            found.use_strategy(SPECS[number // 3])
        ask(found, f"What does the glossary say, for the {number}th time?")
    return found


def told(session: Session, command: str, height: int, drawn: bool = True) -> str:
    paper = Paper(80, drawn, height=height)
    obey(session, command, paper.console)
    return paper.text.rpartition("\x1b[2K")[2]


@pytest.mark.parametrize("command", ["/stats", "/compare", "/strategy", "/context"])
def test_it_fits_and_more_has_all(session: Session, command: str) -> None:
    short = told(session, command, 24)
    assert len(short.splitlines()) <= 24 - PROMPT_ROWS + 1
    if command != "/context":  # it folds its rows
        whole = told(session, command, 100)
        assert f"{command} more" in short
        assert f"{command} more" not in whole
        assert told(session, f"{command} more", 24) == whole
        assert len(whole.splitlines()) > len(short.splitlines())
        assert f"{command} more" not in told(session, command, 24, drawn=False), "nothing scrolls off in a file"


def test_each_call_has_the_name_of_its_strategy(session: Session) -> None:
    answers = [call.strategy for call in session.agent.ledger.calls if call.purpose == "answer"]
    for command in ("/stats", "/tree"):
        text = told(session, command, 60, drawn=False)
        line = next(line for line in text.splitlines() if line.strip().startswith("calls 1–"))
        named: list[str] = []
        for part in line.strip().removeprefix("calls ").split(" · "):
            span, strategy = part.split(" ", 1)
            first, last = (int(number) for number in (span.split("–") * 2)[:2])
            assert first == len(named) + 1
            named += [strategy] * (last - first + 1)
        assert named == answers
    assert " → ".join(SPECS) in told(session, "/tree", 60, drawn=False)
