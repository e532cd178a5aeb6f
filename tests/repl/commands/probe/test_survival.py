from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.repl.commands.probe.test_probe import QUESTIONS, kept, reading
from tests.support.family import family
from tests.support.histories import TinyCounter
from tests.support.scripted import Scripted
from tests.support.sessions import Paper, ask, scripted
from thimble.agent.events import Prepared
from thimble.agent.messages import Message
from thimble.repl.commands.probe.probe import stands
from thimble.repl.commands.probe.survival import cells, show_survival, strategies, survive
from thimble.strategies.table import STRATEGIES, asks_a_model

SILENT = [name for name, kind in STRATEGIES.items() if not asks_a_model(kind)]


@pytest.mark.parametrize("name", family(SILENT, "observation-masking", "dedup"))
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


@dataclass
class Interrupted(TinyCounter):
    """A counter during whose work Ctrl-C is pressed."""

    left: int = 10**9

    def count(self, message: Message) -> int:
        self.left -= 1
        if not self.left:
            raise KeyboardInterrupt
        return super().count(message)


@pytest.mark.parametrize("drawn", family([True, False]))
def test_ctrl_c_keeps_what_is_done(drawn: bool) -> None:
    session, counter, rows = reading(budget=2_000), Interrupted(), set()
    session.agent.use(Scripted([], counter))
    before = kept(session)
    for counts in itertools.count(1, 200):
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
