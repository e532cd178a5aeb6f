"""Every command that README and docs show is run, and every strategy, tool and command has its place there."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from repl.commands.table import COMMANDS
from strategies import STRATEGIES, parameters
from tests.support.paths import ROOT

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
LONG = {
    "python -m lab.experiments.first_session",
    "python -m lab.experiments.questions",
    "python -m lab.experiments.foresight",
    "python benchmarks/prepare.py",
    "python benchmarks/commands.py",
}
"""Commands that make a page and take long; a test of their own runs each in a small form and holds the page to it."""
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks(language: str) -> list[tuple[str, str]]:
    return [(page.name, body) for page in PAGES for found, body in FENCE.findall(page.read_text()) if found == language]


def lines(language: str) -> list[tuple[str, str]]:
    return [(page, line) for page, body in blocks(language) for line in body.strip().splitlines() if line[:1] != "#"]


def of_prepare(language: str) -> list[str]:
    return [body for page, body in blocks(language) if page == "use-as-a-filter.md"]


@pytest.fixture
def workshop(tmp_path: Path) -> Path:
    """A folder with `mine.py`, the strategy that README and docs show, and the classes, each in a file of its name."""
    (mine,) = {body for _, body in blocks("python") if "def prepare(messages, budget):" in body and "class" not in body}
    (tmp_path / "mine.py").write_text(mine)
    for name in ("Oldest", "Fuse", "Gist"):
        (body,) = {body for _, body in blocks("python") if f"class {name}:" in body}
        (tmp_path / f"{name.lower()}.py").write_text(body)
    (tmp_path / "conversation.json").write_text(of_prepare("json")[0])
    for folder in ("benchmarks", "docs"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    return tmp_path


def run_in(workshop: Path, command: str) -> subprocess.CompletedProcess[str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        command,
        shell=True,
        cwd=workshop,
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), "THIMBLE_BACKEND": "reader"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
    )


def commands_of(name: str) -> list[str]:
    return [line for page, line in lines("sh") if page == name]


@pytest.mark.parametrize("command", sorted({line for _, line in lines("sh")} - LONG))
def test_every_shown_command_runs(command: str, workshop: Path) -> None:
    command = re.sub(r"^make\b", f"make -n -C {ROOT}", command)
    run = run_in(workshop, command)
    assert run.returncode == 0, f"{command}\n{run.stdout}\n{run.stderr}"


def test_a_strategy_of_ones_own_says_why(workshop: Path) -> None:
    command = next(line for line in commands_of("2-your-own-strategy.md") if "/why" in line)
    told = run_in(workshop, command).stderr
    assert "message 4 (list_articles), dropped, 204 → 0 tokens: the oldest turns go until the view fits" in told


def test_the_lesson_is_the_lines_to_type_and_shows_what_it_says(workshop: Path) -> None:
    page = (ROOT / "docs" / "tutorial" / "3-teach-it.md").read_text()
    typed = re.findall(r"^\| \d+ \| `(.+?)` \|", page, re.MULTILINE)
    (command,) = commands_of("3-teach-it.md")
    arguments = shlex.split(command)
    assert [text for flag, text in pairwise(arguments) if flag == "-p"] == typed
    told = run_in(workshop, command).stderr
    for said in (
        "984/5,000 20%", "Planted in message 12", " 50 tokens over", " 3,289 tokens over", "hold 3,311 of 5,000",
        "Predicted: 8 of 21 right", "message 12 (read_file), masked", "miss: ", "hit: ", "known answer: right",
        "Branch 2 begins behind exchange 1 of branch 1, under offload", "branch 2 (in use), budget 5,000, from call 5",
    ):  # fmt: skip
        assert said in told, said
    assert "known answer: wrong" not in told
    assert told.count("hit: ") == 2
    assert "over budget" not in told.partition("Branch 2 begins")[2]


def test_the_page_on_prepare_shows_what_comes_out(workshop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation, expected = map(json.loads, of_prepare("json"))
    (command,) = of_prepare("sh")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.chdir(workshop)
    assert json.loads(subprocess.check_output(command, shell=True)) == expected
    shown: dict[str, Any] = {}
    exec(*of_prepare("python"), shown)
    thimble = shlex.split(command.partition("<")[0])
    assert shown["prepared"](conversation, command=thimble) == expected
    assert shown["prepared"](conversation)["messages"] == conversation


@pytest.mark.parametrize("page", ["branches.md", "compare-strategies.md", "history-and-view.md", "predict.md"])
def test_the_figures_of_a_sample_come_out_of_the_command_beside_it(page: str, workshop: Path) -> None:
    sample = next(body for name, body in blocks("text") if name == page)
    run = run_in(workshop, commands_of(page)[0])
    told = run.stdout + run.stderr
    assert [figure for figure in re.findall(r"\d[\d,.]+", sample) if figure.strip(",.") not in told] == []


def test_the_first_session_is_what_the_program_does_today() -> None:
    page = ROOT / "docs" / "results" / "first-session.md"
    run = subprocess.run(
        [sys.executable, "-m", "lab.experiments.first_session"], cwd=ROOT, capture_output=True, text=True
    )
    assert run.stdout == page.read_text(), (
        "make it anew: python -m lab.experiments.first_session > docs/results/first-session.md"
    )


def test_every_strategy_and_parameter_is_documented() -> None:
    text = (ROOT / "docs" / "results" / "cost.md").read_text()
    for name, kind in STRATEGIES.items():
        assert f"`{name}`" in text
        for parameter in parameters(kind):
            assert f"`{parameter.name}`" in text, f"{name}: {parameter.name}"


def test_every_slash_command_is_documented() -> None:
    text = (ROOT / "docs" / "reference" / "screen.md").read_text()
    for name in COMMANDS:
        assert f"`/{name.lstrip('/')}" in text, name


def anchors(page: Path) -> set[str]:
    """What its headings are called in an address."""
    headings = re.findall(r"^#+ (.+)$", FENCE.sub("", page.read_text()), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_links_resolve_to_a_file_and_a_heading_of_it() -> None:
    for page in PAGES:
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#]*)#?([^)]*)\)", FENCE.sub("", page.read_text())):
            file = page.parent / target if target else page
            assert file.exists(), f"{page.name}: {target}"
            assert not anchor or anchor in anchors(file), f"{page.name}: {target}#{anchor}"


def test_the_strategy_of_the_readme_stands_in_the_docs() -> None:
    shown = [body for _, body in blocks("python") if "def prepare(messages, budget):" in body and "class" not in body]
    assert len(shown) >= 2
    assert len(set(shown)) == 1
