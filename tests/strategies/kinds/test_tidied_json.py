"""tidied_json: the rows that `tidy` writes are the units, and their cells stand under the names of the columns."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies import json_table
from strategies.json_table import found
from strategies.kinds.registry import recognised
from strategies.kinds.tidied_json import units
from tests.support.hostile_texts import HOSTILE, TEXTS

HEAD = json_table.HEAD.format(3, "")
CELLS = st.one_of(st.integers(), st.text(max_size=9), st.none(), st.lists(st.integers()))


@pytest.mark.parametrize("name", HOSTILE)
def test_units_of_a_hostile_text_joined_are_the_text(name: str) -> None:
    text = f"{HEAD}\n9 rows: a|b\n{HOSTILE[name]}"
    assert "".join(unit.text for unit in units(text) or ()) == text


@given(TEXTS)
def test_units_joined_are_the_text(text: str) -> None:
    cut = units(text)
    assert "".join(unit.text for unit in cut) == text if cut is not None else HEAD not in text.split("\n")


@given(st.lists(st.tuples(CELLS, CELLS), min_size=2, max_size=5))
def test_a_row_is_a_unit_with_the_cells_that_vary(values: list[tuple[Any, Any]]) -> None:
    items = [{"a": a, "id": number, "b": b} for number, (a, b) in enumerate(values)]
    json_ = found(json.dumps({"total": 5, "items": items}))
    assert json_
    before, head, total, heading, *rows, after = units(f"200 OK\n{json_.table}\nbye\n") or []
    assert (before.text, total.text, after.text) == ("200 OK\n", "total: 5\n", "bye\n")
    assert head.weight > 0
    assert heading.weight > 0
    assert len(rows) == len(items)
    first = 0 if ": id" in heading.text or ": a=" in heading.text else 1
    assert [row.cells[first] for row in rows] == [str(number) for number in range(len(items))]
    assert len({len(row.cells) for row in rows}) == 1


def test_a_list_in_a_row_is_one_cell() -> None:
    items = [{"id": n, "name": "a|b", "found": [{"line": n, "text": "x"}, {"line": 9, "text": "y"}]} for n in range(3)]
    json_ = found(json.dumps(items))
    assert json_
    *_, last = units(json_.table or "") or []
    assert last.cells == ("2", "[2|x;9|y]")


def test_a_mention_of_the_head_is_no_table() -> None:
    assert units(f"The head is {HEAD}\n") is None


def test_numbers_in_the_first_column_are_no_numbers_of_lines() -> None:
    text = f"{HEAD}\n9 rows: id|name\n" + "".join(f"{number}|box\n" for number in range(9))
    assert recognised(text)[0].name == "tidied JSON"
