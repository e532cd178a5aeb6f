"""The page on security: each bound in its tables is the constant that the row names, and each test is there."""

from __future__ import annotations

import re
from importlib import import_module

import pytest

from tests.support.malicious_server import MODES
from tests.support.paths import ROOT

PAGE = (ROOT / "docs" / "reference" / "security.md").read_text()
ROWS = re.findall(r"^\|.*\| (.+?) \| `([\w.]+):([\w.]+)` \|$", PAGE, re.MULTILINE)
UNITS = {"MB": 1_000_000}


@pytest.mark.parametrize(("bound", "module", "name"), ROWS, ids=[name for _, _, name in ROWS])
def test_a_bound_is_what_the_code_has(bound: str, module: str, name: str) -> None:
    first, *rest = name.split(".")
    found = getattr(import_module(module), first)
    for attribute in rest:
        found = getattr(found(), attribute)
    number, unit = re.findall(r"([\d,]+) ?(\w*)", bound)[0]
    assert int(number.replace(",", "")) * UNITS.get(unit, 1) == found


def test_there_are_rows_for_each_kind() -> None:
    assert len(ROWS) > 40
    assert {module.split(".")[1] for _, module, _ in ROWS} >= {"models", "agent", "tools", "corpus", "session"}


def test_the_tests_are_there() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)`", PAGE)
    assert len(named) >= 8
    assert all((ROOT / name).is_file() for name in named)
    assert f"({len(MODES)} ways" in PAGE
