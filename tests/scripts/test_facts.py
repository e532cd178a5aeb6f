"""What is left of the facts: mistakes of a user, and the facts that are counted."""

from __future__ import annotations

import subprocess
import sys

import pytest

from scripts import facts
from scripts.facts import left_in_view, pages, stands
from tests.support.estimate import EstimateCounter
from tests.support.paths import ROOT


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


def test_every_fact_stands_in_its_article() -> None:
    found = list(facts.facts())
    assert len(found) > 200
    assert all(stands(fact, pages(slug)) for _, slug, fact in found)
    assert not any(stands(fact, []) for _, _, fact in found)


@pytest.mark.nightly
def test_what_is_hidden_is_brought_back() -> None:
    masked, retrieved = (
        int(left_in_view(spec, 4, 8_000, EstimateCounter()).split(" ")[0])
        for spec in ("observation-masking", "retrieval")
    )
    assert retrieved > 5 * masked
