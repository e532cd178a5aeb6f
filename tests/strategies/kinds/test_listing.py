"""listing: rows whose fields stand below each other are the units, with their fields as cells; other lines are none."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies.kinds.listing import units
from tests.support.hostile_texts import HOSTILE, TEXTS

WORDS = st.text(alphabet="abXY-_./é", min_size=1, max_size=12)
ROWS = st.lists(st.tuples(WORDS, st.integers(0, 10**6).map(str), WORDS, WORDS), min_size=3, max_size=30)


@pytest.mark.parametrize("name", HOSTILE)
def test_units_of_a_hostile_text_joined_are_the_text(name: str) -> None:
    text = "  12 a.py\n 120 b.py\n   3 c.py\n" * 30 + HOSTILE[name]
    assert "".join(unit.text for unit in units(text) or ()) in (text, "")


@given(TEXTS)
def test_units_joined_are_the_text(text: str) -> None:
    found = units(text)
    assert found is None or "".join(unit.text for unit in found) == text


@given(ROWS)
def test_the_fields_of_a_row_are_its_cells(rows: list[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        f"{a:{widths[0]}} {b:>{widths[1]}} {c:{widths[2]}} {d}\n"
        for a, b, c, d in [*rows, ("a" * widths[0], "1", "b" * widths[2], "c")]
    ]
    found = units("".join(["total 12\n", *lines]) * 2) or []
    assert [unit.cells[:4] for unit in found[1 : len(rows) + 1]] == rows[: len(found)]


def test_the_numbers_of_wc() -> None:
    rows = [(str(n * 37 % 911), f"file-{n}") for n in range(30)]
    *found, last = units("".join(f"{many:>9} {name}\n" for many, name in [*rows, ("1234567", "total")])) or []
    assert [unit.cells for unit in found] == [(many, name, str(len(many))) for many, name in rows]
    assert (last.shape, last.cells) == (found[0].shape, ("1234567", "total", "7"))


def test_sorted_counts_are_rows() -> None:
    rows = [(str(n**4), f"word-{n}") for n in range(1, 30)]
    found = units("".join(f"{many:>7} {name}\n" for many, name in rows)) or []
    assert [unit.cells[:2] for unit in found] == rows


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"{n:2}. {['Open', 'Look-at', 'Write'][n % 3]} {'all ' * (n % 2)}the files\n" for n in range(1, 30)),
        "".join(f"name{n}==1.{n} \\\n    --hash=sha256:{n * 37:064}\n    --hash=sha256:{n:064}\n" for n in range(9)),
        "".join(f"item_{n} {n * 37 % 911} kB, {n % 7} left\n" for n in range(30)),
        "".join(f"     {n}\tx = {n}\n" for n in range(1, 30)),
        "Some words of 3 lines\nand of 4 others and\nof 5 more at the end\n" * 9,
        "Usage: x [OPTIONS]\n\n  -v, --version   Print 1\n  -q              Quiet 2\n  -w, --wide      Wide\n",
    ],
    ids=["steps", "hashes", "sentences", "numbered", "prose", "help"],
)
def test_other_lines_are_no_listing(text: str) -> None:
    assert units(text) is None
