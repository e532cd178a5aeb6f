"""The page of laws shows what the command prints: each law has its tests, and the numbers are those of the code."""

from __future__ import annotations

from tests.support.laws_table import table
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "reference" / "laws.md"


def test_the_page_shows_the_table() -> None:
    shown = PAGE.read_text().partition("python -m tests.support.laws_table\n```\n")[2]
    assert shown.strip() == table(), "make it anew: python -m tests.support.laws_table"
