"""Killed at random moments, a session goes on and nothing is lost. `python benchmarks/kills.py` does it 500 times."""

from __future__ import annotations

import re
import sys
from subprocess import run

import pytest

from tests.support.paths import ROOT


@pytest.mark.nightly
def test_kills() -> None:
    command = [sys.executable, ROOT / "benchmarks" / "kills.py", "--kills", "50"]
    killing = run(command, capture_output=True, text=True)
    assert killing.returncode == 0, killing.stderr
    assert re.match(r"50 kills in \d+ sessions: .* 0 faults", killing.stdout)
