"""/export: which file is written, and that it is whole or not there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.session.test_nothing_enters import kept, opened
from tests.support.exported import export, read
from tests.support.sessions import Paper, ask
from thimble.agent.errors import UsageError
from thimble.repl.commands.export.export import FORMATS, parse_arguments, write
from thimble.repl.commands.table import run_command
from thimble.session.journal.journal import Journal
from thimble.session.journal.state import saved_state
from thimble.session.journal.tree import Tree
from thimble.session.session import Session
from thimble.session.settings import Settings


def test_export_alone_writes_a_page_into_the_current_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session, paper = read(), Paper()
    for _ in range(2):
        run_command(session, "/export", paper.console)
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 2
    assert all(re.fullmatch(r"thimble-\d{4}-\d\d-\d\d-\d{4}(-2)?\.html", name) for name in names)
    assert paper.text.count("Written: thimble-") == 2


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("", ("html", None, False)),
        ("md", ("md", None, False)),
        ("JSON a.txt", ("json", "a.txt", False)),
        ("a b.md", ("md", "a b.md", False)),
        ("x.json!", ("json", "x.json", True)),
        ("html page.html !", ("html", "page.html", True)),
    ],
)
def test_the_format_is_told_or_is_the_ending(typed: str, meant: tuple[str, str | None, bool]) -> None:
    kind, name, over = meant
    assert parse_arguments(typed) == (kind, Path(name) if name else None, over)


def test_a_failure_leaves_what_was_there(tmp_path: Path) -> None:
    def pieces() -> Iterator[str]:
        yield "half of it"
        raise OSError(28, "No space left on device")

    path = tmp_path / "a.md"
    path.write_text("mine")
    with pytest.raises(UsageError, match="No space left"):
        write(path, pieces())
    with pytest.raises(UsageError, match="cannot be written"):
        write(tmp_path / "none" / "a.md", ["x"])
    with pytest.raises(UsageError, match="cannot be written"):
        write(tmp_path, ["x"])
    assert [each.name for each in tmp_path.iterdir()] == ["a.md"]
    assert path.read_text() == "mine"


@pytest.mark.parametrize("kind", FORMATS)
def test_a_resumed_session_is_exported_whole(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    first = Session(Settings(backend="reader", budget=2500), Journal(path))
    ask(first, "Read the article about context windows")
    before = export(first, kind, tmp_path)
    first.journal.close()
    journal = Journal.reopen(path)
    lines = journal.read()[0]
    again = Session(Settings(backend="reader", budget=2500), journal, saved_state(Tree(lines).path(1)))
    _ = again.agent
    assert export(again, kind, tmp_path) == before
    journal.close()


@pytest.mark.parametrize("kind", FORMATS)
def test_an_export_leaves_the_session_as_it_was(kind: str, tmp_path: Path) -> None:
    session, _, _ = opened("hybrid")
    before, lines = kept(session), session.journal.read()[0]
    export(session, kind, tmp_path)
    assert kept(session) == before
    assert session.journal.read()[0] == lines


@pytest.mark.parametrize("kind", FORMATS)
def test_all_branches_are_told(kind: str, tmp_path: Path) -> None:
    session = read(2500, "What is observation masking?")
    session.reset()
    assert "What is observation masking?" in export(session, kind, tmp_path)  # nothing was asked on the branch in use
    ask(session, "Which article is about tokenisers?")
    written, paper = export(session, kind, tmp_path), Paper()
    assert "Which article is about tokenisers?" in written
    assert "What is observation masking?" in written
    run_command(session, f"/export {kind} {tmp_path / 'again'}", paper.console)
    assert "It contains all 2 branches." in " ".join(paper.text.split())


def test_in_markdown_a_question_that_branches_share_stands_once(tmp_path: Path) -> None:
    session = read(2500, "What is observation masking?", "Which article is about tokenisers?")
    run_command(session, "/undo", Paper().console)
    ask(session, "What is a token?")
    page = export(session, "md", tmp_path)
    assert page.count("```text\nWhat is observation masking?\n```") == page.count("## Exchange 1\n") == 1
    assert [line for line in page.splitlines() if line.startswith("# ")] == ["# A session of thimble", "# Branch 1"]
    assert "branch 2 of 2; the others follow" in page
    assert "its first 1 exchange as on branch 2" in page


@pytest.mark.parametrize("road", ["{}", "../{0.parent.name}/{0.name}"])
def test_the_file_of_a_session_is_never_replaced(road: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "one.jsonl"
    session = Session(Settings(backend="reader", session_dir=tmp_path), Journal(path))
    ask(session)
    before = path.read_bytes()
    with pytest.raises(UsageError, match="would be taken for a saved session"):
        run_command(session, f"/export md {road.format(path)}!", Paper().console)
    assert path.read_bytes() == before
