"""`/strategy ./mine.py watch`: a saved file counts at the next line, with its state where that still fits."""

from __future__ import annotations

import os
import subprocess
from itertools import count
from pathlib import Path

import pytest

from tests.repl.commands.test_table import said
from tests.session.test_trust import resume
from tests.support.sessions import ask, scripted
from thimble.agent.errors import UsageError
from thimble.session.journal.journal import Journal
from thimble.session.session import Session, open_session
from thimble.session.settings import Settings

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
    assert "counts from your next line on" in said(session, f"/strategy {path}{member} watch")
    return session


def counted(session: Session) -> dict[str, int]:
    return dict(session.agent.strategy.state)


def test_a_saved_file_is_read_at_the_next_question(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    session = watching(path, NEWEST)
    ask(session)
    assert session.news() == []
    save(path, NEWEST.replace("list(messages)", "[m for m in messages if m.role != 'assistant']"))
    ask(session)
    assert session.news() == [f"{path} has changed: it begins anew."]
    assert session.agent.ledger.view is not None
    assert "assistant" not in {message.role for message in session.agent.ledger.view.messages}
    ask(session)
    assert session.news() == []


def test_a_command_looks_too(tmp_path: Path) -> None:
    session = watching(tmp_path / "mine.py", NEWEST)
    save(tmp_path / "mine.py", f"{NEWEST}\n")
    said(session, "/stats")
    assert "has changed" in session.news()[0]


def test_state_is_kept_where_it_fits_and_begun_anew_where_not(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    session = watching(path, COUNTS.format(field="calls", step=1), ":Counts")
    ask(session)
    before = counted(session)["calls"]
    save(path, COUNTS.format(field="calls", step=10))
    ask(session)
    assert session.news() == [f"{path}:Counts has changed: it goes on with its state."]
    assert counted(session)["calls"] == before + 10
    save(path, COUNTS.format(field="asked", step=1))
    ask(session)
    assert session.news() == [f"{path}:Counts has changed: it begins anew."]
    assert counted(session) == {"asked": 1}


@pytest.mark.parametrize("text", ["def prepare(messages:\n", "raise SystemExit('no')\n", "prepare = 3\n"])
def test_a_broken_file_is_one_line_once_and_the_old_strategy_stays(tmp_path: Path, text: str) -> None:
    path = tmp_path / "mine.py"
    session = watching(path, NEWEST)
    old = session.agent.strategy
    save(path, text)
    ask(session)
    (told,) = session.news()
    assert str(path) in told
    assert "stays in use" in told
    assert len(told.splitlines()) == 1
    ask(session)
    assert session.news() == []
    assert session.agent.strategy is old
    save(path, NEWEST)
    ask(session)
    assert session.news() == [f"{path} has changed: it begins anew."]


def test_a_file_that_is_gone_is_told_and_counts_when_it_is_back(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    session = watching(path, NEWEST)
    path.unlink()
    ask(session)
    assert session.news() == [f"there is no file {path}. The strategy as it was before stays in use."]
    save(path, NEWEST)
    ask(session)
    assert session.news() == [f"{path} has changed: it begins anew."]


def test_another_strategy_ends_the_watch(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    session = watching(path, NEWEST)
    session.use_strategy("none")
    save(path, "raise ValueError\n")
    ask(session)
    session.use_strategy("none")
    save(path, NEWEST)
    session.use_strategy(str(path))
    save(path, "raise ValueError\n")
    ask(session)
    assert session.news() == []


def test_only_a_file_is_watched() -> None:
    session = scripted(strategy="none")
    with pytest.raises(UsageError, match="'hybrid' is no file"):
        session.use_strategy("hybrid", watch=True)
    assert session.spec == "none"
    assert session.watched is None
    assert "only a file can be watched" in said(session, "/strategy watch")


def test_a_resumed_session_does_not_watch(tmp_path: Path) -> None:
    path, kept = tmp_path / "mine.py", tmp_path / "2026-11-22-0217-k3f9.jsonl"
    save(path, NEWEST)
    session = open_session(Settings(backend="reader"), Journal(kept))
    said(session, f"/strategy {path} watch")
    session.plant("The code is 4711.")
    session.leave()
    again = resume(kept, backend="reader", strategy=str(path))
    assert again.spec == session.spec
    assert again.watched is None
    again.leave()


def test_a_file_that_is_broken_between_two_lines_of_input_is_told_once(tmp_path: Path, forked: Path) -> None:
    save(tmp_path / "mine.py", NEWEST)
    broken = "open('mine.py', 'w').write('def')"
    (tmp_path / "breaks.py").write_text(f"{broken}\n\n\n{NEWEST}")
    typed = "/strategy ./mine.py watch\nWhat is a token?\n/compare ./breaks.py\nWhat is a window?\n"
    run = subprocess.run(
        [str(forked), "--plain", "--backend", "reader"],
        input=typed, cwd=tmp_path, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    told = run.stdout + run.stderr
    assert told.count("mine.py cannot be loaded") == 1
    assert "stays in use" in told
