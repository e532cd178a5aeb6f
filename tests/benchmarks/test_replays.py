"""The benchmark of replays has a row for every strategy that asks no model."""

from __future__ import annotations

import pytest

from benchmarks.replays import main
from thimble.strategies.table import STRATEGIES, asks_a_model


def test_it_times_every_strategy_that_asks_no_model(capsys: pytest.CaptureFixture[str]) -> None:
    main(40)
    printed = capsys.readouterr().out
    assert "40 messages, 21 calls" in printed
    for name, kind in STRATEGIES.items():
        assert (f"| {name} |" in printed) == (not asks_a_model(kind))
