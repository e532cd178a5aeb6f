"""The benchmark of strategies measures each of them, and the page shows its rows."""

from __future__ import annotations

import re

import pytest

import benchmarks.prepare as benchmark
from tests.support.paths import ROOT
from thimble.strategies.table import STRATEGIES

ROW = re.compile(r"^\| ([a-z][^|]*) \|", re.MULTILINE)
PAGE = (ROOT / "docs" / "results" / "speed.md").read_text()


@pytest.mark.nightly
def test_it_measures_every_strategy(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, small in (("CALLS", 2), ("LENGTHS", (10, 20, 40)), ("LONG_SUMMARIES", 50)):
        monkeypatch.setattr(benchmark, name, small)
    benchmark.main([])
    times, summaries = capsys.readouterr().out.split("\nSummaries, ")
    times, prefills = times.split("\nreact40: ")
    rows = ["strategy", *benchmark.TIMED]
    assert ROW.findall(times) == 3 * rows
    assert {*STRATEGIES} <= {*ROW.findall(prefills)}
    assert {*ROW.findall(summaries)} == {"strategy", *STRATEGIES} - {*benchmark.SPECS}
    shown = PAGE.partition("python benchmarks/prepare.py")[2].partition("\n`compress` and `retrieval`")[0]
    assert ROW.findall(shown) == rows
