"""aligned_table: units joined are the text; the rows of a table that was written are the units, with their cells."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies.kinds.aligned_table import units
from strategies.kinds.kind import lines_of
from tests.support.hostile_texts import HOSTILE, TEXTS

WORD = st.text(alphabet="abXY-_./é", min_size=1, max_size=12)
ROWS = st.lists(st.tuples(WORD, st.integers(0, 10**6).map(str), WORD), min_size=2, max_size=30)
NAMES = ("NAME", "SIZE", "STATE")

DF = """\
Filesystem     1K-blocks    Used Available Use% Mounted on
/dev/vda1       61255492 9412364  49215748  17% /
tmpfs            1024000       0   1024000   0% /dev/shm
"""
PIP = """\
Package Version Editable project location
------- ------- -------------------------
pip     24.0
ours    0.1     /home/ann/ours
"""
FREE = """\
               total        used        free
Mem:           15998        1200       14798
Swap:              0           0           0
"""
PSQL = """\
 id | name |  note
----+------+--------
  1 | ann  | a   b
  2 | bob  |
(2 rows)
"""
MYSQL = """\
+----+------+
| id | name |
+----+------+
|  1 | ann  |
|  2 | bob  |
+----+------+
"""
COVERAGE = """\
Name          Stmts   Miss  Cover
---------------------------------
a/budget.py      40      2    95%
a/b.py          100      0   100%
---------------------------------
TOTAL           140      2    99%
"""


def written(rows: list[tuple[str, ...]], right: tuple[bool, ...], gap: int) -> str:
    """The rows under the names, as kubectl, ps and df write them."""
    table = [NAMES, *rows]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    sides = [str.rjust if each else str.ljust for each in right]
    lines = ((side(cell, width) for side, cell, width in zip(sides, row, widths, strict=True)) for row in table)
    return "".join(f"{(' ' * gap).join(cells).rstrip()}\n" for cells in lines)


@pytest.mark.parametrize("name", HOSTILE)
def test_units_of_a_hostile_text_joined_are_the_text(name: str) -> None:
    text = f"NAME  AGE\na      10\nb      20\n{HOSTILE[name]}"
    assert "".join(unit.text for unit in units(text) or ()) in (text, "")


@given(TEXTS)
def test_units_joined_are_the_text(text: str) -> None:
    found = units(text)
    assert found is None or "".join(unit.text for unit in found) == text


@given(ROWS, st.tuples(st.booleans(), st.booleans(), st.just(False)), st.integers(2, 3))
def test_rows_under_names_are_the_units(rows: list[tuple[str, ...]], right: tuple[bool, ...], gap: int) -> None:
    text = written(rows, right, gap)
    before, names, *found = units(f"<output>\n{text}") or []
    assert [unit.text for unit in (before, names, *found)] == ["<output>\n", *lines_of(text)]
    assert names.weight > 0
    assert [unit.cells for unit in found] == rows


@given(ROWS)
def test_rows_between_bars_are_the_units(rows: list[tuple[str, ...]]) -> None:
    text = "|name|size|state|\n|:--|--:|---|\n" + "".join(f"|{'|'.join(row)}|\n" for row in rows)
    names, *found = units(f"\n{text}\nThe end.\n")[1:-2] if units(f"\n{text}\nThe end.\n") else []
    assert names.text == "".join(lines_of(text)[:2])
    assert [unit.cells[1:-1] for unit in found] == rows


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        (DF, ("tmpfs", "1024000", "0", "1024000", "0%", "/dev/shm")),
        (PIP, ("ours", "0.1", "/home/ann/ours")),
        (FREE, ("Swap:", "0", "0", "0")),
        (PSQL, ("2", "bob", "")),
        (MYSQL, ("", "2", "bob", "")),
        (COVERAGE, ("a/b.py", "100", "0", "100%")),
    ],
)
def test_tables_of_programs(text: str, cells: tuple[str, ...]) -> None:
    found = units(text) or []
    assert "".join(unit.text for unit in found) == text
    assert cells in [unit.cells for unit in found]
    assert [unit.weight > 0 for unit in found].count(True) == 1


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Some words that go on for a line\nand on for a second line and\nthen for a third one and so\n" * 5,
        "2026-01-01 12:00:00 INFO  started\n2026-01-01 12:00:01 WARN  late 3\n2026-01-01 12:00:02 INFO  done 4\n",
        "Nov 23 06:00:01 host cron[12]: start 1\nNov 23 06:00:02 host cron[13]: stop 22\n" * 3,
        "def f(a):\n    x  = 1\n    yy = 22\n    return x\n",
        "Title\n=====\n\nA page with one table.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n" + "Words.\n" * 5,
        "The file a.py has been edited:\n     1\timport os\n     2\tx = 3\n     3\ty = 4\n",
        "4.0K\t/tmp/a\n8.0K\t/tmp/b\n12K\t/tmp\n",
        "Usage: x [OPTIONS]\n\nOptions:\n  -v, --version   Print 1\n  -q              Quiet 2\n",
    ],
)
def test_no_table(text: str) -> None:
    assert units(text) is None


def test_a_number_wider_than_the_others_is_one_cell() -> None:
    rows = [("a", "12", "x")] * 9 + [("a", "123456", "x")] + [("a", "12", "x")] * 9
    lines = [f"{a:<5} {b:>6} {c}\n" for a, b, c in rows]
    found = units("".join(["NAME    SIZE STATE\n", *lines, "\nThe end\n"])) or []
    assert [unit.cells for unit in found[1:-2]] == rows


def test_a_line_that_is_no_row_does_not_end_the_table() -> None:
    rows = ["a     12 x\n"] * 8
    found = units("".join(["NAME  MB STATE\n", *rows, "a-long-name 12 x\n", *rows, "\nThe end\n"])) or []
    assert [unit.shape == found[1].shape for unit in found[1:-2]] == [True] * 8 + [False] + [True] * 8
