from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.errors import ToolError
from tools.confined import Folder
from tools.files import file_tools

SECRET = "the-secret"


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
    "..",
    ".",
    "",
    "a.txt",
    "sub",
    "b.txt",
    "out",
    "out.txt",
    "up.txt",
    "secret.txt",
    "null",
    "loop",
    "fifo",
    ".env",
    "env",
]
PARTS += [
    "outside",
    "root",
    "~",
    "C:",
    "..\\..",
    "around",
    ".git",
    "__pycache__",
    "%2e%2e",
    "\0",
    "\ud800",
    " ",
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
def test_what_is_resolved_is_inside(root: Path, path: str) -> None:
    folder = Folder(root)
    try:
        found = folder.resolve(path)
    except ToolError:
        return
    assert found.is_relative_to(root.resolve())
    assert not found.is_symlink()


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
        ("loop", "link"),
        (".env", "hidden files are not shown"),
        ("env", "hidden files are not shown"),
        ("x" * 300, "File name too long"),
        ("a.txt/b", "Not a directory"),
        ("sub/c.txt", "sub/c.txt does not exist; nearest: sub/b.txt"),
    ],
)
def test_refusals(root: Path, path: str, said: str) -> None:
    with pytest.raises(ToolError, match=said):
        Folder(root).resolve(path)


@pytest.mark.parametrize("path", ["fifo", "fifo.txt"])
def test_a_fifo_does_not_hang(root: Path, path: str) -> None:
    folder = Folder(root)
    with pytest.raises(ToolError, match="fifo: it is not a regular file"):
        folder.text(folder.resolve(path))


def test_a_socket_is_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("s.txt")
        folder = Folder(tmp_path)
        assert folder.files(tmp_path) == []
        with pytest.raises(ToolError, match="No such device"):
            folder.text(folder.resolve("s.txt"))


def test_only_what_can_be_read_is_listed(root: Path) -> None:
    folder = Folder(root)
    names = [folder.name(path) for path in folder.files(folder.root)]
    assert names == ["a.txt", "in.txt", "sub/b.txt"]
    assert all(folder.text(folder.resolve(name)) for name in names)


def test_a_link_swapped_after_the_check_is_not_followed(root: Path, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("fine")
    folder = Folder(tmp_path)
    path = folder.resolve("a.txt")
    path.unlink()
    path.symlink_to(root.parent / "outside" / "secret.txt")
    with pytest.raises(ToolError, match="leaves the folder"):
        folder.text(path)


@pytest.mark.parametrize("path", ["./a.txt", " a.txt\n", "a.txt/", ".//a.txt"])
def test_small_slips_are_forgiven(root: Path, path: str) -> None:
    assert Folder(root).resolve(path).name == "a.txt"


def test_a_missing_root_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for root in (tmp_path / "nowhere", tmp_path / "file"):
        for tool, arguments in zip(file_tools(root), ({}, {"path": "a"}, {"query": "a"}), strict=True):
            with pytest.raises(ToolError, match=f"the folder '{root.name}' does not exist"):
                tool.run(arguments)
