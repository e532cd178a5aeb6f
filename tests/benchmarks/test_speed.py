"""The benchmarks of docs/results/speed.md, each in a small form: their rows are all that there are to measure."""

from __future__ import annotations

import re

import pytest

from benchmarks import journal, keys, prepare, replays
from tests.support.paths import ROOT
from thimble.strategies.table import STRATEGIES, asks_a_model

ROW = re.compile(r"^\| ([a-z][^|]*) \|", re.MULTILINE)
PAGE = (ROOT / "docs" / "results" / "speed.md").read_text()


@pytest.mark.nightly
def test_journal_measures_each_strategy(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(journal, "TIMES", 1)
    monkeypatch.setattr(journal, "TOKENS", 200)
    assert journal.main([], exchanges=3) == 0
    assert tuple(re.findall(r"^\| ([a-z-]+) \| 6\d \|", capsys.readouterr().out, re.MULTILINE)) == journal.STRATEGIES


@pytest.mark.nightly
def test_keys_types_under_every_strategy(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "KEYS", 1)
    assert keys.main(40) == 0
    printed = capsys.readouterr().out
    assert all(f"| {spec} |" in printed for spec in keys.SPECS)


@pytest.mark.nightly
def test_prepare_measures_every_strategy(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name, small in (("CALLS", 2), ("LENGTHS", (10, 20, 40)), ("LONG_SUMMARIES", 50)):
        monkeypatch.setattr(prepare, name, small)
    prepare.main([])
    times, summaries = capsys.readouterr().out.split("\nSummaries, ")
    times, prefills = times.split("\nreact40: ")
    rows = ["strategy", *prepare.TIMED]
    assert ROW.findall(times) == 3 * rows
    assert {*STRATEGIES} <= {*ROW.findall(prefills)}
    assert {*ROW.findall(summaries)} == {"strategy", *STRATEGIES} - {*prepare.SPECS}
    shown = PAGE.partition("python benchmarks/prepare.py")[2].partition("\n`compress` reads")[0]
    assert ROW.findall(shown) == rows


def test_replays_times_every_strategy_that_asks_no_model(capsys: pytest.CaptureFixture[str]) -> None:
    replays.main(40)
    printed = capsys.readouterr().out
    assert "40 messages, 21 calls" in printed
    for name, kind in STRATEGIES.items():
        assert (f"| {name} |" in printed) == (not asks_a_model(kind))
