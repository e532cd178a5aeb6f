"""json_records: units joined are the text; records are those that `json` reads; a value comes with its path."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from strategies.kinds.json_records import of_lines, units
from tests.support.hostile_texts import HOSTILE, TEXTS

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
STEP = re.compile(r'\.?([A-Za-z_@$#][\w@$#-]*)|\[(\d+|"(?:[^"\\]|\\.)*")\]', re.ASCII)
PATH = re.compile(rf"((?:{STEP.pattern})+):(.*)\n", re.ASCII | re.DOTALL)


def at(value: Any, path: str) -> Any:
    """The value at a path such as `a[3]["x y"].b`."""
    for step in STEP.finditer(path):
        value = value[step[1] if step[1] is not None else json.loads(step[2])]
    return value


@pytest.mark.parametrize("name", HOSTILE)
def test_units_of_a_hostile_text_joined_are_the_text(name: str) -> None:
    assert "".join(unit.text for unit in units(HOSTILE[name]) or ()) in (HOSTILE[name], "")


@given(TEXTS)
def test_units_joined_are_the_text(text: str) -> None:
    found = units(text)
    assert found is None or "".join(unit.text for unit in found) == text


@given(RECORDS, INDENTS)
def test_records_of_a_list_are_the_units(records: list[Any], indent: int | None) -> None:
    before, heading, *found = units("200 OK\n" + json.dumps({"items": [*records, "x" * 80]}, indent=indent)) or []
    assert (before.text, heading.shown) == ("200 OK\n", "items:\n")
    assert [json.loads(unit.shown or "") for unit in found] == [*records, "x" * 80]
    assert len({unit.shape for unit in found}) == len({len(unit.cells) for unit in found}) == 1


@given(st.lists(VALUES, min_size=1) | st.dictionaries(NAMES, VALUES, min_size=1), INDENTS)
def test_each_value_comes_with_its_path(value: Any, indent: int | None) -> None:
    group, many = value, 0
    for unit in units(json.dumps(value, indent=indent)) or []:
        path = PATH.fullmatch(unit.shown or "")
        if path and not path[4]:
            group = at(value, path[1])
            continue
        if path:
            told = json.loads(path[4])
            assert told == at(value, path[1])
        elif isinstance(group, dict):
            [(name, told)] = json.loads(f"{{{unit.shown}}}").items()
            assert told == group[name]
        else:
            told = json.loads(unit.shown or "")
            assert told in group
        many += leaves(told)
    assert many == leaves(value)


def leaves(value: Any) -> int:
    """The number of values without values in them."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return sum(map(leaves, inner)) or 1


def test_a_field_has_its_column() -> None:
    records = [{"id": number, "user": {"name": f"u{number}"}, "tags": ["a"] * number} for number in range(30)]
    records[3] = {"user": {"name": "ann"}, "error": "late"}
    found = units(json.dumps(records)) or []
    assert found[2].cells == ("2", "u2", '["a", "a"]', "")
    assert found[3].cells == ("", "ann", "", "error=late")


def test_long_records_are_cut_inside() -> None:
    series = [{"name": name, "points": [{"t": t, "value": t * t} for t in range(200)]} for name in ("in", "out")]
    shown = [unit.shown for unit in units(json.dumps(series)) or []]
    assert shown[:3] == ['[0].name: "in"\n', "[0].points:\n", '{"t":0,"value":0}\n']
    assert len(shown) == 2 * (1 + 1 + 200)


def test_objects_with_the_same_fields_are_records() -> None:
    users = {f"u{number}": {"name": "x" * number, "age": number} for number in range(9)}
    found = units(json.dumps({"count": 9, "users": users})) or []
    assert [unit.shown for unit in found][:3] == ["count: 9\n", "users:\n", '"u0":{"name":"","age":0}\n']
    assert found[5].cells == ("xxx", "3", "")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "see [1]\n[1] A paper, 2023\n",
        "[section]\nkey = 1\n",
        "{\n  return 1;\n}\n",
        '{"a": 1}\n{"a": 2}\n{"a": 3}\n',
        "[]",
    ],
)
def test_no_json(text: str) -> None:
    assert units(text) is None


@given(
    st.lists(st.dictionaries(st.sampled_from(["id", "name"]), st.text(max_size=9), min_size=1), min_size=2),
    st.sampled_from(["", "\n", "\r\n"]),
)
def test_each_line_that_is_json_is_a_record(records: list[dict[str, str]], end: str) -> None:
    lines = "\n".join(map(json.dumps, records)) + end
    found = of_lines(lines) or []
    assert "".join(unit.text for unit in found) == lines
    assert [unit.shown for unit in found] == [f"{json.dumps(one, separators=(',', ':'))}\n" for one in records]


@pytest.mark.parametrize(
    "text", ["", "\n", "{}\n", "{}\n{}", '{"a": 1}\n{"a": }\n', '{"a": 1}\n}\n', '{"a": 1}]\n{"b": [1}\n']
)
def test_other_lines_are_no_records(text: str) -> None:
    found = of_lines(text)
    assert found is None or "".join(unit.text for unit in found) == text
