"""The benchmark of keys has a row for every strategy that asks no model."""

from __future__ import annotations

import pytest

from benchmarks import keys


@pytest.mark.nightly
def test_it_types_under_every_strategy(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keys, "KEYS", 1)
    assert keys.main(40) == 0
    printed = capsys.readouterr().out
    assert all(f"| {spec} |" in printed for spec in keys.SPECS)
