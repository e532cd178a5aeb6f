"""The reader quotes the entries of a JSON file, as they are and in the table that tidy makes of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from models.reader.records import records
from models.reader.results import read
from strategies.json_table import found
from tools.files import file_tools

WORDS = st.text(alphabet="abc é|;[]{}\",'.=", max_size=8)
ROWS = st.lists(
    st.fixed_dictionaries({"name": WORDS, "mark": st.integers(0, 9)}, optional={"note": WORDS}), min_size=2, max_size=8
)


def page(folder: Path, value: Any, **arguments: int) -> str:
    (folder / "a.json").write_text(json.dumps(value, indent=2))
    return next(tool for tool in file_tools(folder) if tool.name == "read_file").run({"path": "a.json", **arguments})


def table(text: str) -> str:
    it = found(text)
    assert it
    assert it.table
    return it.table


def test_a_record_is_quoted_with_the_line_it_is_read_by(tmp_path: Path) -> None:
    pupils = [
        {
            "id": n,
            "name": f"Pupil {n}",
            "url": f"https://school.example/{n}",
            "tags": ["a", "b"],
            "at": {"x": n, "y": 0},
        }
        for n in range(1, 200)
    ]
    text = page(tmp_path, pupils, start=31)
    plain, tidied = read(text), read(table(text))
    assert plain.form == tidied.form == "lines"
    assert [one.source for one in plain.said] == [one.source for one in tidied.said]
    assert plain.said[2].source == "a.json:33"
    assert plain.said[2].text.startswith("33: name Pupil 33; url https://school.example/33; ")
    assert tidied.said[2].text == '33: name Pupil 33; url https://school.example/33; tags ["a","b"]; x 33; y 0.'


def test_lines_that_stand_above_are_counted(tmp_path: Path) -> None:
    rows = [{"id": n, "name": f"Pupil {n}"} for n in range(1, 30)]
    head, keys, *shown = table(page(tmp_path, rows)).split("\n")[1:]
    above = '[28 lines as above, from `1|Pupil`; recall(id="m8") shows all]'
    assert [*records("\n".join([head, keys, above, shown[-1]]))] == [(28, "29: name Pupil 29.")]


@given(ROWS)
def test_each_row_of_a_table_is_a_record(rows: list[dict[str, Any]]) -> None:
    written = json.dumps(rows)
    assert [place for place, _ in records(table(written))] == [*range(len(rows))]


@given(st.text() | st.text(alphabet='[]{}":,|1 rows:\n\\', max_size=60))
def test_any_text_is_read(text: str) -> None:
    assert len([*records(text)]) <= text.count("\n") + 1
