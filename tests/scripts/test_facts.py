"""What is left of the facts: the histories are sound, and the page's rows are what the program counts."""

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from scripts import facts, foresight
from scripts.facts import RATIOS, left_in_view, pages, stands
from tests.support.estimate import EstimateCounter
from tests.support.paths import ROOT

DOCS = ROOT / "docs"
PAGE = (DOCS / "explanation" / "hide-move-summarise.md").read_text()


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("facts hybird", "there is no strategy 'hybird'"),
        ("facts none+hybrid", "none+hybrid asks a model"),
        ("foresight no-such-file.json", "no-such-file.json cannot be read"),
    ],
)
def test_mistakes_are_told_in_two_lines(command: str, what: str) -> None:
    run = subprocess.run(
        [sys.executable, "-m", *f"scripts.{command}".split()], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert (run.returncode, run.stdout) == (2, "")
    assert what in run.stderr
    assert run.stderr.splitlines()[1].startswith("fix: ")


@pytest.mark.nightly
def test_foresight_of_a_few_runs_has_the_rows_of_the_page(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foresight, "MADE_UP", 4)
    foresight.main([])
    rows = re.findall(r"^\| ([\d.]+) \| ([\d.]+) \| [\d.]+ \| [\d.]+ \|$", capsys.readouterr().out, re.MULTILINE)
    page = (DOCS / "explanation" / "thrifty.md").read_text().partition("python -m scripts.foresight\n")[2]
    assert [price for price, _ in rows] == re.findall(r"^\| ([\d.]+) \|", page, re.MULTILINE)[: len(rows)]
    assert all(1 <= float(over) <= 2 for _, over in rows)


def test_every_fact_stands_in_its_article() -> None:
    found = list(facts.facts())
    assert len(found) > 200
    assert all(stands(fact, pages(slug)) for _, slug, fact in found)
    assert not any(stands(fact, []) for _, _, fact in found)


@pytest.mark.nightly
def test_the_page_says_what_is_left_under_a_strategy_and_when_compressed(capsys: pytest.CaptureFixture[str]) -> None:
    facts.show(["observation-masking"], facts.BUDGET)
    rows = [line for line in capsys.readouterr().out.splitlines() if re.match(r"\| (observation|0\.)", line)]
    assert len(rows) == 1 + len(RATIOS)
    assert [row for row in rows if row not in PAGE.splitlines()] == []


@pytest.mark.nightly
def test_what_is_hidden_is_brought_back() -> None:
    masked, retrieved = (
        int(left_in_view(spec, 4, 8_000, EstimateCounter()).split(" ")[0])
        for spec in ("observation-masking", "retrieval")
    )
    assert retrieved > 5 * masked
