"""The benchmark of the journal measures what it says."""

from __future__ import annotations

import re

import pytest

import benchmarks.journal as benchmark


@pytest.mark.nightly
def test_it_measures_each_strategy(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(benchmark, "TIMES", 1)
    monkeypatch.setattr(benchmark, "TOKENS", 200)
    assert benchmark.main([], exchanges=3) == 0
    printed = capsys.readouterr().out
    assert tuple(re.findall(r"^\| ([a-z-]+) \| 6\d \|", printed, re.MULTILINE)) == benchmark.STRATEGIES
