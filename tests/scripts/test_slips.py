"""The slips of the documents: the page is what the command prints, and turns are lost as it says."""

from __future__ import annotations

import pytest

from scripts.slips import main
from tests.support.paths import ROOT


def test_the_page_is_what_the_command_prints(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--markdown"])
    printed = [line for line in capsys.readouterr().out.splitlines() if line.startswith("|")]
    page = (ROOT / "docs/results/slips.md").read_text().splitlines()
    assert [line for line in page if line.startswith("|")] == printed


def test_the_turns_that_printed_code_loses(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--markdown"])
    told = capsys.readouterr().out
    in_summary, newest = set(range(43 - 10)), set(range(120 - 10, 120))
    assert f"at turn 120, {len(set(range(120)) - in_summary - newest)} turns are in no prompt" in told
    assert f"{len(set(range(30)) - set(range(20, 30)))} of 30 are in no prompt" in told
