"""The slips of the documents: turns are lost as the page says."""

from __future__ import annotations

import pytest

from scripts.slips import main


def test_the_turns_that_printed_code_loses(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--markdown"])
    told = capsys.readouterr().out
    in_summary, newest = set(range(43 - 10)), set(range(120 - 10, 120))
    assert f"at turn 120, {len(set(range(120)) - in_summary - newest)} turns are in no prompt" in told
    assert f"{len(set(range(30)) - set(range(20, 30)))} of 30 are in no prompt" in told
