"""Kinds: units joined are the text, whatever the text; and the files of this project are not taken for outputs."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies.kinds.kind import Kind
from strategies.kinds.registry import KINDS, recognised

ROOT = Path(__file__).parents[3]
LINES = st.sampled_from(
    [
        "2026-11-23T06:29:00Z INFO started 3",
        "Nov 23 06:29:00 host app[7]: stopped",
        'time=2026-11-23T06:29:00Z level=info msg="x" a=1',
        '{"time": 1, "level": "info", "msg": "served 3"}',
        '{"time": 1, "level": "info", "msg": ' + "[" * 5_000,
        "Traceback (most recent call last):",
        '  File "a.py", line 3, in f',
        "    f(n - 1)",
        "ValueError: 3",
        "\tat a.B.c(B.java:3)",
        "=== RUN   TestOne",
        "tests/test_a.py::test_b PASSED",
        "=== 1 failed, 3 passed in 0.1s ===",
        "E   assert 1 == 2",
        "agent/loop.py:12:def run():",
        "agent/loop.py-13-    pass",
        "12:def run():",
        "--",
        "./agent/loop.py",
        "./agent:",
        "loop.py",
        "",
        " ",
        "\r",
        "\x00\x1b[31m",
        "words of a sentence",
    ]
)
TEXTS = st.one_of(
    st.text(),
    st.lists(LINES, max_size=30).map("\n".join),
    st.lists(st.one_of(LINES, st.text(max_size=20)), max_size=30).map("\n".join),
    st.tuples(LINES, st.integers(3, 30), st.text(max_size=20)).map(lambda parts: f"{parts[0]}\n" * parts[1] + parts[2]),
)
LONG = ["a", "(", " ", '"', "1-", "1:", "a/", "{", '="\\', "    at ", '  File "', " |", "[I", "\n", " \n", "a\n"]
BEFORE = ["", "2026-11-23 06:29:00 a\n" * 3, "=== RUN a\n", "Traceback (most recent call last):\n", "a/b:1:x\n" * 3]


@given(TEXTS)
def test_units_joined_are_the_text(text: str) -> None:
    for kind in KINDS:
        units = kind.units(text)
        assert units is None or "".join(unit.text for unit in units) == text
        assert units is None or all(unit.text for unit in units)
    assert "".join(unit.text for unit in recognised(text)[1]) == text


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name)
def test_long_texts_of_one_piece_are_cut(kind: Kind) -> None:
    """A pattern that looks at each place from each place would need hours."""
    for before in BEFORE:
        for piece in LONG:
            text = before + piece * (20_000 // len(piece))
            units = kind.units(text)
            assert units is None or "".join(unit.text for unit in units) == text


def test_pages_and_sources_are_not_outputs() -> None:
    pages = [ROOT / "README.md", ROOT / "CHANGELOG.md", ROOT / "pyproject.toml", *(ROOT / "docs").rglob("*.md")]
    for path in [*pages, *(ROOT / "strategies").glob("*.py"), *(ROOT / "agent").glob("*.py")]:
        kind, _ = recognised(path.read_text("utf-8"))
        assert kind.name not in {"log", "test report", "stack trace", "search hits", "paths"}, path
