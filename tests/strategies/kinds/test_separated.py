"""separated: units joined are the text; the rows that `csv` writes are the units, with their fields as cells."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies.kinds.separated import units
from tests.support.hostile_texts import HOSTILE, TEXTS

FIELDS = st.one_of(st.text(alphabet='ab ,;|\t"\n1', max_size=8), st.integers().map(str))
RESULT = "<returncode>0</returncode>\n<output>\n{}</output>\n"


@pytest.mark.parametrize("name", HOSTILE)
def test_units_of_a_hostile_text_joined_are_the_text(name: str) -> None:
    text = f"a,b,c\n1,2,3\n4,5,6\n{HOSTILE[name]}"
    assert "".join(unit.text for unit in units(text) or ()) in (text, "")


@given(TEXTS)
def test_units_joined_are_the_text(text: str) -> None:
    found = units(text)
    assert found is None or "".join(unit.text for unit in found) == text


@given(st.sampled_from(",;\t|"), st.lists(st.tuples(FIELDS, FIELDS, FIELDS), min_size=3, max_size=8))
def test_rows_are_the_units(mark: str, rows: list[tuple[str, ...]]) -> None:
    paper = io.StringIO()
    csv.writer(paper, delimiter=mark, lineterminator="\n").writerows([("id", "first name", "note (m²)"), *rows])
    before, output, names, *found = (units(RESULT.format(paper.getvalue())) or [])[:-1]
    assert "".join(unit.text for unit in (names, *found)) == paper.getvalue()
    assert [unit.cells for unit in found] == rows
    assert (before.text, output.text) == ("<returncode>0</returncode>\n", "<output>\n")
    assert names.weight > 0
    assert {unit.shape for unit in found} == {"row"}


def test_a_row_with_other_fields_is_cut_into_lines() -> None:
    found = units('id,name\n1,a\n2,b\n3,c\n4,d\n5\n"5,e\nbroken\n') or []
    assert [unit.text for unit in found[5:]] == ["5\n", '"5,e\n', "broken\n"]


def test_a_table_without_names_has_many_fields() -> None:
    found = units("7,a,b,c\n8,a,b,c\n9,a,b,c\n") or []
    assert [unit.weight for unit in found] == [0, 0, 0]
    assert units("7,a\n8,a\n9,a\n") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Roses are red, violets are blue.\nSugar is sweet, and so are you.\nThe end, my friend.\n",
        "2026-01-01 12:00:00,123 INFO started\n2026-01-01 12:00:01,456 INFO done\n2026-01-01 12:00:02,789 INFO end\n",
        "import os, re\nfrom a import b, c\nx, y = 1, 2\nfor a, b in c:\n",
        "    (1, 2, 3, 4),\n    (5, 6, 7, 8),\n    (9, 10, 11, 12),\n",
        "     1\timport os\n     2\t\n     3\tdef f():\n     4\t    return 1\n",
        "src/a.py:3:x, y\nsrc/b.py:7:x, y\nsrc/c.py:9:x, y\n",
        " a.py | 2 +-\n b.py | 4 ++--\n c.py | 2 ++\n",
    ],
)
def test_no_table(text: str) -> None:
    assert units(text) is None
