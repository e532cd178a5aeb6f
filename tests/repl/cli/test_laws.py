"""`thimble laws`: what a participant of a workshop sees."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from thimble.agent.errors import UsageError
from thimble.repl.cli import laws


def tried(path: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "thimble", "laws", str(path)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)


def test_a_file_that_is_not_there_is_told_in_two_lines(tmp_path: Path) -> None:
    run = tried(tmp_path / "none.py")
    assert run.returncode == 2
    assert f"there is no file {tmp_path / 'none.py'} fix: give the path of" in " ".join(run.stderr.split())


@pytest.mark.nightly
def test_one_without_an_end_is_stopped_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def prepare(messages, budget):\n    while True: pass\n")
    run = tried(path)
    assert run.returncode == 1
    told = f"{path}, line 2: TimedOut: it has not ended after 5 seconds"
    assert "".join(told.split()) in "".join(run.stdout.split())


def test_without_hypothesis_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hypothesis", None)
    with pytest.raises(UsageError) as caught:
        laws.run(["none"])
    assert caught.value.fix == "pip install hypothesis"


def test_a_strategy_of_ours_keeps_all_laws() -> None:
    assert laws.run(["sliding-window:window=2"]) == laws.HOLD


@pytest.mark.nightly
def test_of_a_broken_law_the_smallest_history_is_shown(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def prepare(messages, budget):\n    return messages[1:]\n")
    run = tried(path)
    assert run.returncode == 1
    told = " ".join(run.stdout.split("BROKEN  law 5")[1].split("holds")[0].split())
    assert "the system message is not first" in told
    assert "1; who: system; fate: dropped" in told
    assert "2; who" not in told
