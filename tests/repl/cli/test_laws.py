"""`thimble laws`: what a participant of a workshop sees."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from thimble.agent.errors import UsageError
from thimble.repl.cli import laws


def tried(path: Path, code: str) -> str:
    path.write_text(f"def prepare(messages, budget):\n    {code}\n")
    command = [sys.executable, "-m", "thimble", "laws", str(path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert run.returncode == 1
    return run.stdout


@pytest.mark.nightly
def test_one_without_an_end_is_stopped_with_its_line(tmp_path: Path) -> None:
    told = f"{tmp_path / 'mine.py'}, line 2: TimedOut: it has not ended after 5 seconds"
    assert "".join(told.split()) in "".join(tried(tmp_path / "mine.py", "while True: pass").split())


def test_without_hypothesis_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(UsageError) as caught:
        laws.run_laws(["none"])
    assert caught.value.fix == "pip install hypothesis"


def test_a_strategy_of_ours_keeps_all_laws() -> None:
    assert laws.run_laws(["sliding-window:window=2"]) == laws.HOLD


@pytest.mark.nightly
def test_of_a_broken_law_the_smallest_history_is_shown(tmp_path: Path) -> None:
    said = tried(tmp_path / "mine.py", "return messages[1:]")
    told = " ".join(said.split("BROKEN  law 5")[1].split("holds")[0].split())
    assert "the system message is not first" in told
    assert "1; who: system; fate: dropped" in told
    assert "2; who" not in told
