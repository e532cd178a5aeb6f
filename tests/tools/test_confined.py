from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support import hostile_folder
from tests.support.hostile_folder import SECRET, swapped
from thimble.agent.errors import ToolError
from thimble.corpus import safe_open
from thimble.corpus.library import load_library
from thimble.corpus.safe_open import MAX_DEPTH
from thimble.tools.confined import PATH_LETTERS, Folder
from thimble.tools.files import file_tools


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with every trap that a file system has, beside a secret."""
    base = tmp_path_factory.mktemp("base")
    outside, root = base / "outside", base / "root"
    for folder in (outside, root / "sub", root / ".git", root / "__pycache__"):
        folder.mkdir(parents=True)
    for path in (
        outside / "secret.txt",
        base / "root-secret.txt",
        root / ".env",
        root / ".git" / "c",
        root / "__pycache__" / "p",
    ):
        path.write_text(SECRET)
    (root / "a.txt").write_text("plain\n")
    (root / "sub" / "b.txt").write_text("below\n")
    (root / "out").symlink_to(outside)
    (root / "out.txt").symlink_to(outside / "secret.txt")
    (root / "sub" / "up.txt").symlink_to("../../outside/secret.txt")
    (root / "null").symlink_to("/dev/null")
    (root / "loop").symlink_to("loop")
    (root / "env").symlink_to(".env")
    (root / "in.txt").symlink_to("a.txt")
    (root / "around").symlink_to("sub")
    os.mkfifo(root / "fifo")
    (root / "fifo.txt").symlink_to("fifo")
    return root


PARTS = [
    *("..", ".", "", "a.txt", "sub", "b.txt", "out", "out.txt", "up.txt", "secret.txt", "null", "loop", "fifo", ".env"),
    *("env", "outside", "root", "~", "C:", "..\\..", "around", ".git", "__pycache__", "%2e%2e", "\0", "\ud800", " "),
    "x" * 300,
]
PATHS = st.one_of(st.text(), st.lists(st.sampled_from(PARTS), max_size=6).map("/".join))


@given(path=PATHS)
def test_no_path_leaves_the_root(root: Path, path: str) -> None:
    for name in ("list_files", "read_file", "search_files"):
        key = "path" if name == "read_file" else "folder"
        tool = next(tool for tool in file_tools(root) if tool.name == name)
        try:
            observation = tool.run({key: path} | ({"query": "secret"} if name == "search_files" else {}))
        except ToolError as error:
            observation = error.what
        assert SECRET not in observation
        assert str(root) not in observation


@given(path=PATHS)
def test_by_path_as_on_windows_it_is_the_same(root: Path, path: str) -> None:
    def said() -> object:
        try:
            return Folder(root).find(path), Folder(root).files()
        except ToolError as error:
            return error.what

    expected = said()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(safe_open, "BY_DESCRIPTOR", False)
        assert said() == expected


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/etc/passwd", "relative to the folder"),
        ("//host/x", "relative to the folder"),
        ("sub/../../outside/secret.txt", "cannot leave the folder"),
        ("C:/x", "without a drive"),
        ("C:x", "without a drive"),
        ("sub\\b.txt", "write paths with /"),
        ("a\0.txt", "control characters"),
        ("out/secret.txt", "a link that leaves the folder"),
        ("out.txt", "a link that leaves the folder"),
        ("null", "a link that leaves the folder"),
        ("fifo", "fifo: it is not a regular file"),
        ("fifo.txt", "fifo.txt: it is not a regular file"),
        ("loop", "link"),
        (".env", "hidden files are not shown"),
        ("env", "hidden files are not shown"),
        ("x" * 300, "File name too long"),
        ("x/" * 3_000_000, f"a path has at most {PATH_LETTERS:,} characters"),
        ("./" * 3_000_000, f"a path has at most {PATH_LETTERS:,} characters"),
        ("a.txt/b", "Not a directory"),
        ("sub/c.txt", "sub/c.txt does not exist; nearest: sub/b.txt"),
    ],
)
def test_refusals(root: Path, path: str, said: str) -> None:
    with pytest.raises(ToolError, match=said):
        Folder(root).find(path)


def test_only_what_can_be_read_is_listed(root: Path) -> None:
    folder = Folder(root)
    names, unread = folder.files()
    assert (names, unread) == (["a.txt", "in.txt", "sub/b.txt"], 0)
    assert all(folder.text(folder.find(name).name) for name in names)


def test_a_link_swapped_after_the_check_is_not_followed(root: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("fine")
    folder = Folder(tmp_path)
    name = folder.find("a.txt").name
    (tmp_path / name).unlink()
    (tmp_path / name).symlink_to(root.parent / "outside" / "secret.txt")
    with pytest.raises(ToolError, match="leaves the folder"):
        folder.text(name)


def test_a_file_that_another_process_swaps_for_a_link_is_never_read(tmp_path: Path) -> None:
    with swapped(tmp_path) as root:
        folder = Folder(root)
        search = next(tool for tool in file_tools(root) if tool.name == "search_files")
        said, read, refused = "", 0, 0
        for rounds in range(50_000):
            if rounds >= 1_000 and refused:
                break
            for name in ("folder/a.md", "file.md"):
                try:
                    said = folder.text(folder.find(name).name)
                    read += 1
                except ToolError:
                    refused += 1
                assert said != SECRET
            if rounds % 100 == 0:
                articles = [article.sections for article in load_library(root).articles]
                assert SECRET not in search.run({"query": "secret"}) + repr(articles)
        assert read
        assert refused


def test_a_hostile_folder_is_told_in_lines(tmp_path: Path) -> None:
    with hostile_folder.hostile_folder(tmp_path) as root:
        tools = {tool.name: tool for tool in file_tools(root)}
        listed = tools["list_files"].run({})
        assert [line.partition(" ")[0] for line in listed.split("\n")[1:-1]] == ["a.md", "in.md", "whole.md"]
        assert listed.endswith("[1 folder left out: too deep, too large or not readable]")
        assert tools["search_files"].run({"query": "plain"}).startswith("3 matches")
        for levels in (MAX_DEPTH + 1, hostile_folder.LEVELS):
            with pytest.raises(ToolError, match=f"it is more than {MAX_DEPTH} folders deep"):
                tools["read_file"].run({"path": "d/" * levels + "deep.md"})
        library = load_library(root)
        assert {article.path for article in library.articles} == {"a.md", "in.md", "whole.md"}
        assert {skip.path.rpartition("d/")[2]: skip.reason for skip in library.skipped} == {
            "out.md": "it is a link that leaves the folder",
            "sub/up.md": "it is a link that leaves the folder",
            "null.md": "it is a link that leaves the folder",
            "around.md": "it is a link that leaves the folder",
            "loop.md": "it is a link that leads to itself",
            "fifo.md": "it is not a regular file",
            "fifo-link.md": "it is not a regular file",
            "socket.md": "it is not a regular file",
            "d": f"it is more than {MAX_DEPTH} folders deep",
        }


def test_a_folder_with_too_many_names_is_cut(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safe_open, "MAX_ENTRIES", 3)
    names, unread = Folder(root).files()
    assert (len(names) <= 3, unread) == (True, 1)


def test_a_missing_root_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for root in (tmp_path / "nowhere", tmp_path / "file"):
        for tool, arguments in zip(file_tools(root), ({}, {"path": "a"}, {"query": "a"}), strict=True):
            with pytest.raises(ToolError, match=f"the folder '{root.name}' does not exist"):
                tool.run(arguments)
