"""Without POSIX, each command works, or ends in one line what is wrong and one how to fix it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.family import family
from tests.support.paths import ROOT
from tests.support.studies import UNANSWERED
from thimble.workshop.exercise_set import BUILT_IN_EXERCISES, SOLUTION

QUESTION = "What is context rot?"
MESSAGES = json.dumps([{"role": "user", "content": "Read."}, {"role": "assistant", "content": "Done."}])
STUDY = ("-m", "thimble", "lab", "run", "--store", "s.jsonl", "--strategy", "none", "--questions", "asked.yaml")
HELD = """
import subprocess, sys
from pathlib import Path
from thimble.lab.store import Store
store = Store(Path("s.jsonl"), write=True)
sys.exit(subprocess.run([sys.executable, *sys.argv[1:]]).returncode)
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with what the commands read."""
    (tmp_path / "runs.jsonl").write_text(f"{MESSAGES}\n")
    (tmp_path / "asked.yaml").write_text(UNANSWERED)
    (tmp_path / "contest").mkdir()
    (tmp_path / "contest" / "mine.py").write_text("def prepare(messages, budget):\n    return messages\n")
    return tmp_path


def python(here: Path, *arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join([str(ROOT / "tests" / "support" / "without_posix"), str(ROOT)])
    environ = {**os.environ, "PYTHONPATH": path, "THIMBLE_BACKEND": "reader"}
    run = subprocess.run([sys.executable, *arguments], cwd=here, env=environ, input=stdin,
                         capture_output=True, text=True)  # fmt: skip
    assert "Traceback" not in run.stderr, run.stderr
    return run


@pytest.mark.parametrize(
    ("arguments", "stdin", "out"),
    family(
        [
            (("-p", QUESTION), "", "[glossary]"),
            (("--plain",), f"{QUESTION}\n", "[glossary]"),
            (("prepare",), MESSAGES, '"tokens_before"'),
            (("lab", "replay", "runs.jsonl", "--strategy", "none"), "", "\nnone "),
            (("lab", "judge", "contest", "--runs", "runs.jsonl", "--csv"), "", "\nmine.py,"),
        ]
    ),
)
def test_a_command_works(here: Path, arguments: tuple[str, ...], stdin: str, out: str) -> None:
    run = python(here, "-m", "thimble", *arguments, stdin=stdin)
    assert (run.returncode, out in run.stdout) == (0, True), run.stdout + run.stderr


@pytest.mark.nightly
def test_a_study_keeps_a_second_writer_from_its_store(here: Path) -> None:
    assert "4 finished jobs" in python(here, *STUDY).stdout
    held = python(here, "-c", HELD, *STUDY)
    assert held.returncode == 2
    assert held.stderr.splitlines() == [
        "thimble lab: another thimble lab is writing s.jsonl",
        "fix: wait until it ends, or give another --store",
    ]


@pytest.mark.nightly
def test_a_solution_is_checked(here: Path) -> None:
    workshop = ("-m", "thimble", "workshop")
    assert python(here, *workshop, "init", "ws").returncode == 0
    folder = here / "ws" / "01-count-tokens"
    assert "Count tokens" in python(folder, *workshop, "next").stdout
    assert "✗ 01-count-tokens" in python(folder, *workshop, "check").stdout
    (folder / "mine.py").write_text((BUILT_IN_EXERCISES / folder.name / SOLUTION).read_text())
    assert "✓ 01-count-tokens" in python(folder, *workshop, "check").stdout
    watch = python(folder, *workshop, "watch")
    assert (watch.returncode, len(watch.stderr.splitlines())) == (2, 2)
