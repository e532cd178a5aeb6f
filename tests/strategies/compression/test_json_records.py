"""json_records: records are those that `json` reads; a value comes with its path, and nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.strategies.compression.json_records import record_units
from thimble.strategies.compression.json_table import compact_json

SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=9), st.sampled_from(['a"b', "\\", "] ,", "1"])
)
NAMES = st.one_of(st.sampled_from(["id", "a.b", "x y", "", "é", '"', "[0]"]), st.text(max_size=3))
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=25,
)
RECORDS = st.lists(st.dictionaries(NAMES, VALUES, max_size=3), min_size=2, max_size=5)
INDENTS = st.sampled_from([None, 0, 2])


@given(RECORDS, INDENTS)
def test_records_of_a_list_are_the_units(records: list[Any], indent: int | None) -> None:
    before, heading, *found = (
        record_units("200 OK\n" + json.dumps({"items": [*records, "x" * 80]}, indent=indent)) or []
    )
    assert (before.text, heading.text) == ("200 OK\n", "items:\n")
    assert [json.loads(unit.text) for unit in found] == [*records, "x" * 80]
    assert len({unit.shape for unit in found}) == len({len(unit.cells) for unit in found}) == 1


def leaves(value: Any) -> Iterator[Any]:
    """The values without values in them."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for one in inner:
        yield from leaves(one)
    if not inner:
        yield value


@given(st.lists(VALUES, min_size=1) | st.dictionaries(NAMES, VALUES, min_size=1), INDENTS)
def test_no_value_is_lost(value: Any, indent: int | None) -> None:
    said = "".join(unit.text for unit in record_units(json.dumps(value, indent=indent)) or [])
    for one in leaves(value):
        assert compact_json(one) in said


def test_a_field_has_its_column() -> None:
    records = [{"id": number, "user": {"name": f"u{number}"}, "tags": ["a"] * number} for number in range(30)]
    records[3] = {"user": {"name": "ann"}, "error": "late"}
    found = record_units(json.dumps(records)) or []
    assert found[2].cells == ("2", "u2", '["a","a"]', "")
    assert found[3].cells == ("", "ann", "", "late")


def test_long_records_are_cut_inside() -> None:
    series = [{"name": name, "points": [{"t": t, "value": t * t} for t in range(200)]} for name in ("in", "out")]
    shown = [unit.text for unit in record_units(json.dumps(series)) or []]
    assert shown[:3] == ['0.name: "in"\n', "0.points:\n", '{"t":0,"value":0}\n']
    assert len(shown) == 2 * (1 + 1 + 200)


@pytest.mark.parametrize(
    "text",
    ["", "see [1]\n[1] A paper, 2023\n", "[section]\nkey = 1\n", "{\n  return 1;\n}\n", '{"a": 1}\n{"a": 2}\n', "[]"],
)
def test_no_json(text: str) -> None:
    assert record_units(text) is None
