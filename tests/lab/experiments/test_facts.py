"""What is left of the facts: the histories are sound, and the page's rows are what the program counts."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys

import pytest

from agent.history import task
from lab import __main__ as lab
from lab.experiments import foresight
from lab.experiments.facts import RATIOS, facts, left_in_view, pages, session, stands
from models.counting.estimate import EstimateCounter
from tests.support.histories import is_sound
from tests.support.paths import ROOT

DOCS = ROOT / "docs"
PAGE = (DOCS / "explanation" / "hide-move-summarise.md").read_text()


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["facts", "--strategy", "hybird"], "there is no strategy 'hybird'"),
        (["facts", "--strategy", "none+hybrid"], "none+hybrid asks a model"),
        (["foresight", "no-such-file.json"], "no-such-file.json cannot be read"),
    ],
)
def test_mistakes_are_told_in_two_lines(arguments: list[str], what: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert lab.main(arguments) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert what in told.err
    assert told.err.splitlines()[1].startswith("fix: ")


def test_foresight_of_a_few_runs_has_the_rows_of_the_page(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foresight, "MADE_UP", 4)
    assert lab.main(["foresight"]) == 0
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+) \| [\d.]+ \| [\d.]+ \|$", capsys.readouterr().out, re.MULTILINE)
    page = (DOCS / "explanation" / "thrifty.md").read_text().partition("thimble lab foresight\n")[2]
    assert [price for price, _ in rows] == re.findall(r"^\| ([\d.]+) \|", page, re.MULTILINE)[: len(rows)]
    assert all(1 <= float(over) <= 2 for _, over in rows)


def test_a_session_reads_whole_articles_and_then_asks() -> None:
    history = session(["attention", "chunking"], "And?")
    assert is_sound(history) == []
    assert task(history) is history[1]
    read = [message.content for message in history if message.role == "tool"]
    assert read == [*pages("attention"), *pages("chunking")]


def test_every_fact_stands_in_its_article() -> None:
    found = list(facts())
    assert len(found) > 200
    assert all(stands(fact, pages(slug)) for _, slug, fact in found)
    assert not any(stands(fact, []) for _, _, fact in found)


def test_the_page_says_what_is_left_under_a_strategy_and_when_compressed(capsys: pytest.CaptureFixture[str]) -> None:
    assert lab.main(["facts", "--strategy", "observation-masking"]) == 0
    rows = [line for line in capsys.readouterr().out.splitlines() if re.match(r"\| (observation|0\.)", line)]
    assert len(rows) == 1 + len(RATIOS)
    assert [row for row in rows if row not in PAGE.splitlines()] == []


def test_what_is_hidden_is_brought_back() -> None:
    masked, retrieved = (
        int(left_in_view(spec, 4, 8_000, EstimateCounter()).split(" ")[0])
        for spec in ("observation-masking", "retrieval")
    )
    assert retrieved > 5 * masked


def test_whoever_reads_the_tables_may_leave() -> None:
    run = subprocess.run(
        f"set -o pipefail; {shlex.quote(sys.executable)} -m lab foresight | head -n 0",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (run.returncode, run.stdout, run.stderr) == (1, "", "")
