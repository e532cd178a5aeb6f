"""The list of strategies: all that there is to know, in lines that fit."""

from __future__ import annotations

import os
from itertools import count
from pathlib import Path

import pytest

from tests.repl.commands.test_table import said
from tests.support.sessions import Paper, ask, scripted, type_command
from thimble.repl.commands.strategy import paragraphs
from thimble.session.session import Session
from thimble.strategies.parameter import parameters_of
from thimble.strategies.table import FAMILIES, STRATEGIES


def test_the_list_has_every_strategy_and_parameter_with_its_default() -> None:
    session = scripted(strategy="hybrid")
    drawn, plain = (" ".join(said(session, "/strategy", drawn=drawn).split()) for drawn in (True, False))
    assert all(len(line) <= 80 for line in said(session, "/strategy", drawn=True).splitlines())
    assert plain.count("(in use)") == plain.count("hybrid (in use)") == 1
    for family, strategies in FAMILIES.items():
        assert family in drawn
        for name, kind in strategies.items():
            taken = "".join(f" {parameter.name}={parameter.shown}" for parameter in parameters_of(kind))
            meaning = f"{paragraphs(kind)[0].partition('.')[0]}.{taken}"
            assert f"{name} {meaning}" in drawn or f"{name} ‹ {meaning}" in drawn
            assert f"{name}: {meaning}" in plain or f"{name} (in use): {meaning}" in plain


@pytest.mark.parametrize("name", STRATEGIES)
def test_the_help_of_a_strategy_has_all_of_it_and_a_spec_to_try(name: str) -> None:
    session = scripted()
    text = " ".join(said(session, f"/help strategy {name}").split())
    assert text == " ".join(said(session, f"/help /strategy  {name}").split())
    for part in (*paragraphs(STRATEGIES[name]), *(one.legal for one in parameters_of(STRATEGIES[name]))):
        assert part in text
    spec = text.rpartition("/strategy ")[2].replace(" ", "")
    assert "/strategy" not in spec
    session.use_strategy(spec)
    assert session.spec == spec
    assert len(paragraphs(STRATEGIES[name])[0].split(". ")) == 2, "a description teaches in two sentences"


def test_a_swap_to_a_paper_says_what_else_it_turns_off() -> None:
    told = said(scripted(), "/strategy tidy+comem:paper,k=3+hybrid:paper")
    assert "comem:paper is k=2,summary=background,words=683,suggestions=off." in told
    assert "hybrid:paper is window=10,when=always,every=43,tail=10,early=off." in told
    assert ":paper is" not in said(scripted(), "/strategy hybrid:early=off")


NEWEST = "def prepare(messages, budget):\n    return list(messages)\n"
COUNTS = """
from dataclasses import dataclass, field
from thimble.strategies.state import Stateful

@dataclass
class Memory:
    {field}: int = 0

@dataclass
class Counts(Stateful):
    memory: Memory = field(default_factory=Memory)

    def prepare(self, messages, budget):
        self.memory.{field} += {step}
        return list(messages)
"""
TIMES = count(1)


def save(path: Path, text: str) -> None:
    """Write a file as an editor does: whole, by renaming, and later than before."""
    new = path.with_suffix(".new")
    new.write_text(text)
    os.utime(new, (next(TIMES), next(TIMES)))
    new.replace(path)


def watching(path: Path, text: str, member: str = "") -> Session:
    save(path, text)
    session = scripted(*["Yes."] * 4)
    assert "take effect at your next line" in said(session, f"/strategy {path}{member} watch")
    return session


def counted(session: Session) -> dict[str, int]:
    return dict(session.agent.strategy.state)


def test_a_saved_file_is_read_at_the_next_question(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    session = watching(path, NEWEST)
    ask(session)
    assert session.take_notices() == []
    save(path, NEWEST.replace("list(messages)", "[m for m in messages if m.role != 'assistant']"))
    ask(session)
    assert session.take_notices() == [f"{path} has changed: it starts afresh."]
    assert session.agent.ledger.view is not None
    assert "assistant" not in {message.role for message in session.agent.ledger.view.messages}
    ask(session)
    assert session.take_notices() == []


def test_state_is_kept_where_it_fits_and_begun_anew_where_not(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    session = watching(path, COUNTS.format(field="calls", step=1), ":Counts")
    ask(session)
    before = counted(session)["calls"]
    save(path, COUNTS.format(field="calls", step=10))
    ask(session)
    assert session.take_notices() == [f"{path}:Counts has changed: it keeps its state."]
    assert counted(session)["calls"] == before + 10
    save(path, COUNTS.format(field="asked", step=1))
    ask(session)
    assert session.take_notices() == [f"{path}:Counts has changed: it starts afresh."]
    assert counted(session) == {"asked": 1}


@pytest.mark.parametrize("text", ["def prepare(messages:\n", "raise SystemExit('no')\n", "prepare = 3\n"])
def test_a_broken_file_is_one_line_once_and_the_old_strategy_stays(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.py"
    session = watching(path, NEWEST)
    old = session.agent.strategy
    save(path, text)
    ask(session)
    (told,) = session.take_notices()
    assert str(path) in told
    assert "stays in use" in told
    assert len(told.splitlines()) == 1
    ask(session)
    assert session.take_notices() == []
    assert session.agent.strategy is old
    save(path, NEWEST)
    ask(session)
    assert session.take_notices() == [f"{path} has changed: it starts afresh."]


def test_the_mark_names_what_is_in_use() -> None:
    session = scripted("It hides.", strategy="tidy+sliding-window:window=3")
    ask(session, "What is masking?")
    text = said(session, "/strategy")
    assert "sliding-window (in use): " in text
    assert text.count("; in use: ") == text.count("; in use: window=3\n") == 1
    type_command(session, "/drop 3", Paper().console)
    assert said(session, "/compare none").count("you+tidy+sliding-window:window=3 (in use)") == 1
