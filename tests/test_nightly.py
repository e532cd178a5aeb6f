"""The nightly profile: as many examples for each law as docs/reference/laws.md says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.paths import ROOT

LAWS = """
import pytest
from hypothesis import given, settings, strategies as st

@pytest.mark.parametrize("name", ["none", "hybrid", "pipeline"])
@given(st.integers())
def test_law(name, example):
    pytest.skip(f"{settings.default.max_examples} examples")
"""


@pytest.mark.parametrize(
    ("profile", "arguments", "expected"),
    [
        ("quick", (), {50: 3}),
        ("nightly", ("-n", "2"), {6_667: 3}),
        ("nightly", ("-k", "hybrid"), {20_000: 1}),
    ],
)
def test_a_law_s_examples_are_shared_out_among_the_strategies_selected(
    profile: str, arguments: tuple[str, ...], expected: dict[int, int], tmp_path: Path
) -> None:
    (tmp_path / "test_laws.py").write_text(LAWS)
    command = [sys.executable, "-m", "pytest", "-rs", "-p", "tests.conftest", "--rootdir", str(tmp_path), *arguments]
    environment = {**os.environ, "HYPOTHESIS_PROFILE": profile, "PYTHONPATH": str(ROOT)}
    run = subprocess.run([*command, "test_laws.py"], cwd=tmp_path, env=environment, capture_output=True, text=True)
    found = re.findall(r"SKIPPED \[(\d+)\].*?(\d+) examples", run.stdout)
    assert {int(examples): int(times) for times, examples in found} == expected, run.stdout + run.stderr
