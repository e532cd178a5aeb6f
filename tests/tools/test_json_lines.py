"""A JSON file is read to its end by pages, each of them JSON, however the file is written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thimble.tools import json_lines
from thimble.tools.files import file_tools
from thimble.tools.json_lines import TEXT, lay_out

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=12) | st.text(alphabet='[]{}",:\\ é', max_size=8),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=4), inner, max_size=5),
    max_leaves=25,
)
DOCUMENTS = VALUES.filter(lambda value: isinstance(value, list | dict) and bool(value))
Leaf = tuple[tuple[str, ...], Any]


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[Leaf]:
    """What a document says, in its order: names on the way, and a value that holds no other."""
    if isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
    elif isinstance(value, list) and value:
        for inner in value:
            yield from leaves(inner, (*path, "[]"))
    else:
        yield path, value


def read(root: Path, **arguments: Any) -> str:
    return next(tool for tool in file_tools(root) if tool.name == "read_file").run({"path": "a.json", **arguments})


@pytest.mark.parametrize("entry", [2, 30, 10_000])
@settings(max_examples=60)
@given(DOCUMENTS, st.sampled_from([None, 0, 2]), st.integers(1, 5))
def test_the_pages_say_what_the_document_says_once(entry: int, value: Any, indent: int | None, size: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_lines, "ENTRY", entry)
        patch.setattr(json_lines, "_format_value", str)
        found = json_lines.parse_document.__wrapped__(json.dumps(value, indent=indent))
    assert found
    assert json.loads("\n".join(found.lines)) == value
    assert not any("\n" in line for line in found.lines)
    cuts = [*range(0, len(found.lines), size), len(found.lines)]
    pages = [json.loads(found.page(*both)) for both in pairwise(cuts)]
    assert [leaf for page in pages for leaf in leaves(page)] == [*leaves(value)]


@given(st.text(alphabet='[]{}",:1 \n\\ab', max_size=40) | st.text())
def test_any_other_text_stays_as_it_is(text: str) -> None:
    try:
        is_document = isinstance(value := json.loads(text), list | dict) and bool(value)
    except ValueError:
        is_document = False
    assert is_document or lay_out(text) == text


PUPILS = [{"id": number, "name": f"Pupil {number}", "mark": number % 6} for number in range(1, 301)]


@pytest.mark.parametrize("indent", [None, 2])
def test_a_file_is_read_to_its_end(tmp_path: Path, indent: int | None) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"school": "North", "pupils": PUPILS}, indent=indent))
    start, rows = 1, list[Any]()
    while start:
        head, *body = read(tmp_path, start=start).split("\n")
        left = re.search(r"start=(\d+)", body[-1])
        page = json.loads("\n".join(body[:-1] if left else body))
        assert head.startswith(f"a.json · entries {start}-")
        assert head.endswith(" of 301")
        assert ("school" in page) == (start == 1)
        rows += page["pupils"]
        start = int(left[1]) if left else 0
    assert rows == PUPILS


def test_a_file_in_one_line_is_searched_by_its_entries(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps(PUPILS))
    tools = {tool.name: tool for tool in file_tools(tmp_path)}
    assert tools["list_files"].run({}).endswith("300 entries)")
    found = tools["search_files"].run({"query": "Pupil 171"})
    assert found == '1 match for "Pupil 171"\na.json:171: {"id": 171, "name": "Pupil 171", "mark": 3},'
    assert read(tmp_path, start=171, lines=1).split("\n")[1] == '[{"id": 171, "name": "Pupil 171", "mark": 3}]'


def test_a_long_text_is_shown_as_far_as_there_is_room(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(json.dumps({"a": "é" * 10_000, "b": [1]}))
    text = json.loads(read(tmp_path).split("\n", 1)[1])
    assert text == {"a": "é" * TEXT + "… [+7,000 characters]", "b": [1]}


HOSTILE = {
    "blanks": "[" + " " * 10**6 + "1]",
    "breaks": "[" + "\n" * 10**6 + "1]",
    "blanks without end": "[1" + " " * 10**6,
    "closing": "[1" + "]" * 10**6,
    "deep": "[" * 60 + "1," * 90_000 + "1" + "]" * 60,
    "many": "[1" + ",1" * 10**6 + "]",
    "a long name": json.dumps({"a" * 10**6: [[1] * 3000, 2]}),
    "not a number": "[NaN, Infinity]",
    "twice": '{"a": 1, "a": 2}',
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_hostile_files_are_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    assert len(read(tmp_path)) <= 8_000
