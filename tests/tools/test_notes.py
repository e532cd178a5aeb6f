from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.paths import ROOT
from thimble.agent.errors import ToolError, UsageError
from thimble.corpus.article import parse_article
from thimble.corpus.library import Library
from thimble.tools import toolbox
from thimble.tools.notebook import Note, Notebook
from thimble.tools.notes import note_tools

TEXT = st.text(min_size=1, max_size=50).filter(str.strip)


def call(notes: Notebook, name: str, **arguments: object) -> str:
    return next(tool for tool in note_tools(notes) if tool.name == name).run(arguments)


@given(st.lists(st.tuples(st.text(max_size=30), TEXT), max_size=5))
def test_notes_survive_being_saved_with_a_session(pairs: list[tuple[str, str]]) -> None:
    notes, again = Notebook(), Notebook()
    for title, text in pairs:
        call(notes, "save_note", title=title, text=text)
    again.state = json.loads(json.dumps(notes.state))
    assert again.kept == notes.kept
    assert call(again, "get_notes") == call(notes, "get_notes")


@given(st.lists(st.tuples(TEXT, TEXT), max_size=5), st.text())
def test_any_query_is_answered(pairs: list[tuple[str, str]], query: str) -> None:
    notes = Notebook()
    for title, text in pairs:
        notes.save(title, text)
    assert call(notes, "get_notes", query=query).split("\n")[0]
    assert len(notes.kept) == len(set(pairs))


def test_formats() -> None:
    notes = Notebook()
    assert call(notes, "get_notes") == "No notes yet."
    assert call(notes, "save_note", title=" Window\nsize ", text=" M = 10\nis best ") == "Saved note 1: Window size"
    assert call(notes, "get_notes") == "1 note\n1. Window size: M = 10\n   is best"
    assert call(notes, "save_note", title="Agents", text="cost 4 times") == "Saved note 2: Agents"
    assert call(notes, "save_note", title="Agents", text="cost 4 times") == "Saved note 2: Agents"
    assert call(notes, "get_notes").startswith("2 notes\n")
    assert call(notes, "get_notes", query="what does an agent cost") == ("1 note\n2. Agents: cost 4 times")
    assert call(notes, "get_notes", query="zebra") == 'No notes with "zebra".\nTitles: 1. Window size; 2. Agents'


def test_a_note_needs_text_and_has_a_limit() -> None:
    notes = Notebook()
    with pytest.raises(ToolError, match="no text"):
        call(notes, "save_note", title="x", text=" ")
    with pytest.raises(ToolError, match="5,000 characters and may have 4,000"):
        call(notes, "save_note", title="x", text="x" * 5_000)
    assert call(notes, "save_note", title="", text="The title is missing") == "Saved note 1: The title is missing"


@pytest.mark.parametrize(
    "state", [{"notes": 3}, {"notes": [3]}, {"notes": [{"title": "x"}]}, {"notes": [{"title": 1, "text": ""}]}]
)
def test_a_broken_state_is_refused_and_loses_nothing(state: dict[str, object]) -> None:
    notes = Notebook()
    notes.save("a", "b")
    with pytest.raises(UsageError):
        notes.state = state
    assert notes.state == {"notes": [{"title": "a", "text": "b"}]}
    notes.state = {}
    assert notes.kept == []


def test_the_toolbox_holds_every_tool_in_order(tmp_path: Path) -> None:
    tools = toolbox(Library(tmp_path, (parse_article("text", "a.md"),)), tmp_path, Notebook())
    assert " ".join(tools) == (
        "list_articles search_articles read_article map_articles list_files read_file search_files save_note get_notes"
    )
    for name, tool in tools.items():
        function = tool.schema["function"]
        assert function["name"] == tool.name == name
        assert function["description"]
        assert all("description" in property for property in function["parameters"]["properties"].values())
    assert len(json.dumps([tool.schema for tool in tools.values()])) < 3_200


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.lists(st.tuples(st.text(max_size=30), TEXT), max_size=4), max_size=4))
def test_notes_in_a_file_outlive_every_session(tmp_path: Path, sessions: list[list[tuple[str, str]]]) -> None:
    file = tmp_path / "notes.jsonl"
    file.unlink(missing_ok=True)
    known: list[Note] = []
    for pairs in sessions:
        notes = Notebook(file)
        assert list(notes.earlier) == notes.kept == known
        for title, text in pairs:
            call(notes, "save_note", title=title, text=text)
        assert notes.kept[: len(known)] == known
        known = notes.kept
        if len(known) % 2:  # as an editor may leave it
            file.write_bytes(file.read_bytes().rstrip())
    assert Notebook(file).kept == known


def test_the_notes_of_the_file_come_behind_those_that_a_session_goes_on_with(tmp_path: Path) -> None:
    file = tmp_path / "notes.jsonl"
    session = Notebook(file)
    session.save("a", "first")
    was = session.state
    session.save("b", "undone")
    session.state = was
    assert session.save("c", "third") == 2
    notes, before = Notebook(file), file.read_bytes()
    notes.state = session.state
    assert [note.title for note in notes.kept] == ["a", "c", "b"]
    assert notes.save("d", "next") == 4
    notes.state = {}
    assert [note.title for note in notes.kept] == ["a", "b", "c"]
    assert file.read_bytes().startswith(before)
    assert not file.stat().st_mode & 0o077


@pytest.mark.parametrize("text", ['{"text": ', "3", "null", '{"title": "x"}', '{"title": 1, "text": "x"}', "[" * 9_000])
def test_a_file_of_something_else_is_named_with_its_line(tmp_path: Path, text: str) -> None:
    file = tmp_path / "notes.jsonl"
    file.write_text('{"title": "a", "text": "b"}\n' + text)
    with pytest.raises(UsageError, match="line 2") as caught:
        Notebook(file)
    assert "--notes" in caught.value.fix


ON_A_FULL_DISK = """
import resource, sys
from pathlib import Path
from thimble.agent.errors import ToolError
from thimble.tools.notebook import Notebook
from thimble.tools.notes import note_tools

file = Path(sys.argv[1])
for title, end in (("a", b"\\n"), ("b", b"")):
    Notebook(file).save(title, "first")
    file.write_bytes(file.read_bytes().rstrip() + end)
    before, new = file.read_bytes(), '{"title": "c", "text": "second"}\\n'
    for room in range(len(new)):
        notes = Notebook(file)
        save = next(tool for tool in note_tools(notes) if tool.name == "save_note")
        resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + room, -1))
        try:
            print(save.run({"title": "c", "text": "second"}))
        except ToolError as error:
            assert "this session only: File too large" in error.what, error
        assert file.read_bytes() == before, (room, file.read_bytes())
        assert notes.kept == [*Notebook(file).kept, notes.kept[-1]]
    resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))
"""


def test_a_disk_that_is_full_keeps_a_note_whole_or_not_at_all(tmp_path: Path) -> None:
    command = [sys.executable, "-c", ON_A_FULL_DISK, str(tmp_path / "notes.jsonl")]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert (run.stdout, run.stderr) == ("", "")


@pytest.mark.parametrize("end", ["", "\n"])
def test_a_note_that_is_torn_is_left_out_and_costs_no_other(tmp_path: Path, end: str) -> None:
    file, first, torn = tmp_path / "notes.jsonl", Note("a", "b"), '{"title": "b", "text": "torn"}'
    for length in range(1, len(torn)):
        file.write_text(f'{{"title": "a", "text": "b"}}\n{torn[:length]}{end}')
        before, notes = file.read_text(), Notebook(file)
        assert (notes.kept, notes.torn) == ([first], [2])
        notes.save("c", "next")
        assert Notebook(file).kept == [first, Note("c", "next")]
        assert file.read_text().startswith(before)


def test_a_file_that_cannot_be_written_costs_no_note(tmp_path: Path) -> None:
    notes = Notebook(tmp_path / "gone" / "notes.jsonl")
    with pytest.raises(ToolError, match="this session only"):
        call(notes, "save_note", title="a", text="b")
    assert call(notes, "get_notes") == "1 note\n1. a: b"
