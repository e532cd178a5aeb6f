"""Files of recorded runs: every form holds the same, and what cannot be read is said with its place."""

from __future__ import annotations

import gzip
import json
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from thimble.agent.errors import UsageError
from thimble.commands.trajectories import read_trajectories
from thimble.models import chat

ENTRIES: list[dict[str, Any]] = [
    {"role": "system", "content": "You are a test."},
    {"role": "user", "content": "How large is a thimble\u2028or two?"},
    {"role": "assistant", "content": "", "tool_calls": [{"id": "c", "function": {"name": "read", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "c", "content": "Two millilitres."},
    {"role": "assistant", "content": "Two millilitres ☂"},
]
TOOL = {"type": "function", "function": {"name": "read", "description": "Read a page.", "parameters": {}}}
WITH_ID = {"id": "one", "messages": ENTRIES, "outcome": "anything"}
FORMS: dict[str, str] = {
    "a list": json.dumps(ENTRIES),
    "an object, indented": json.dumps({"messages": ENTRIES}, indent=2),
    "a list of one object": json.dumps([{"messages": ENTRIES}]),
    "a list of one list": json.dumps([ENTRIES]),
    "an object a line": json.dumps(WITH_ID, ensure_ascii=False) + "\n",
    "a list a line, blank lines": "\n" + json.dumps(ENTRIES, ensure_ascii=False) + "\n\n",
    "a byte order mark": "\ufeff" + json.dumps({"messages": ENTRIES}),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("zipped", [False, True])
def test_every_form_holds_the_same_run(form: str, zipped: bool, tmp_path: Path) -> None:
    file = tmp_path / "runs"
    data = FORMS[form].encode()
    file.write_bytes(gzip.compress(data) if zipped else data)
    (run,) = read_trajectories([file])
    assert list(run.messages) == chat.read_messages(ENTRIES)
    assert run.turns == 2
    assert run.calls == [2, 4]


def test_several_runs_keep_their_order_and_have_names_of_their_own(tmp_path: Path) -> None:
    lines, array = tmp_path / "lines.jsonl", tmp_path / "array.json"
    lines.write_text("\n".join(json.dumps(value) for value in (WITH_ID, ENTRIES, [ENTRIES, WITH_ID], [])))
    array.write_text(json.dumps([{"messages": ENTRIES, "tools": [TOOL]}, WITH_ID, {"id": 7, "messages": []}]))
    names = ["one", "lines.jsonl:2", "lines.jsonl:3:1", "one~2", "array.json:1", "one~3", "7"]
    runs = read_trajectories([lines, array])
    assert [run.name for run in runs] == names
    assert [run.tools for run in runs if run.tools] == [[TOOL]]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("", "bad.jsonl contains no trajectory"),
        ("{", "bad.jsonl, line 1: this is not JSON"),
        ('[\n {"role": "user"},\n oops]', "bad.jsonl, line 3: this is not JSON"),
        (f"{json.dumps(WITH_ID)}\n\n{{oops\n", "bad.jsonl, line 3: this is not JSON"),
        (f"{json.dumps(WITH_ID)}\n{'[' * 100_000}\n", "bad.jsonl, line 2: this is not JSON"),
        (f"{json.dumps(WITH_ID)}\n7\n", "bad.jsonl, line 2: the messages are not a list"),
        (f'{json.dumps(WITH_ID)}\n{{"role": "user", "content": "x"}}\n', "bad.jsonl, line 2: an object without"),
        (f'{json.dumps(WITH_ID)}\n[{{"role": "wizard"}}]\n', "bad.jsonl, line 2: message 1 has the role 'wizard'"),
        (json.dumps([WITH_ID, {"messages": "x"}]), "bad.jsonl, run 2: the messages are not a list"),
        (json.dumps({"messages": [], "tools": "f"}), "bad.jsonl: tools is not a list"),
    ],
)
def test_what_cannot_be_read_is_said_with_its_place(text: str, what: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.jsonl"
    file.write_text(text)
    with pytest.raises(UsageError) as error:
        read_trajectories([file])
    assert what in error.value.what
    assert "\n" not in error.value.what
    assert error.value.fix


def calls(number: int, id_: str) -> list[dict[str, Any]]:
    """A turn whose result has this id."""
    function = {"name": "read", "arguments": "{}"}
    call = {"id": f"call-{number}", "type": "function", "function": function}
    return [
        {"role": "assistant", "content": "I read on.", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": id_, "content": "the log has many words " * 9},
    ]


def test_a_run_that_would_lose_much_of_its_text_is_refused(tmp_path: Path) -> None:
    """Ids that are not those of the calls: with a few of them the run is told of, with many its costs are another's."""
    few, many = ([calls(at, f"call{'_' if at < wrong else '-'}{at}") for at in range(12)] for wrong in (1, 6))
    for name, turns in (("few", few), ("many", many)):
        (tmp_path / name).write_text(json.dumps([ENTRIES[1], *chain(*turns)]))
    assert read_trajectories([tmp_path / "few"])[0].repaired.lost == len(few[0][1]["content"])
    with pytest.raises(UsageError, match="45% of the text would be left out"):
        read_trajectories([tmp_path / "many"])


def test_files_that_are_none(tmp_path: Path) -> None:
    (tmp_path / "cut.gz").write_bytes(gzip.compress(b"[]" * 99)[:-9])
    (tmp_path / "latin").write_bytes('["Müller"]'.encode("latin-1"))
    for name, what in {"cut.gz": "cannot be read", "latin": "not UTF-8", "none": "No such file", ".": "folder"}.items():
        with pytest.raises(UsageError, match=what):
            read_trajectories([tmp_path / name])
