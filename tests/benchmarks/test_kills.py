"""Killed at random moments, a session goes on and nothing is lost. `python benchmarks/kills.py` does it 500 times."""

from __future__ import annotations

import re
import sys
from subprocess import run

from tests.support.paths import ROOT


def test_ten_kills() -> None:
    killing = run([sys.executable, ROOT / "benchmarks" / "kills.py", "--kills", "10"], capture_output=True, text=True)
    assert killing.returncode == 0, killing.stderr
    assert re.match(r"10 kills in \d+ sessions: .* 0 faults", killing.stdout)
