"""A folder that the model may look into, and nothing outside it."""

from __future__ import annotations

import difflib
import os
import re
import stat
from collections.abc import Iterator
from itertools import islice
from pathlib import Path, PureWindowsPath

from agent.errors import ToolError
from corpus.markdown import shorten
from corpus.reading import read_text

FILE_LIMIT_BYTES = 5_000_000
MAX_FILES = 20_000
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class Folder:
    """A root folder, checked anew at each use: it may be missing, and it may change while a session runs.

    A path is relative to the root, with `/` between its parts. Refused with a ToolError: an absolute path, `..`, a
    drive letter, a backslash, a control character, a link that leaves the root, a hidden part. What is refused is
    not listed either.
    """

    def __init__(self, root: Path) -> None:
        self._given = root

    @property
    def root(self) -> Path:
        """The root with its links resolved. Raises ToolError when there is no such folder."""
        try:
            root = self._given.resolve(strict=True)
            if root.is_dir():
                return root
        except (OSError, RuntimeError):
            pass
        raise ToolError(f"there are no files to read: the folder {self._given.name!r} does not exist")

    def resolve(self, name: str) -> Path:
        """The existing file or folder that a path means, inside the root and with its links resolved."""
        root, shown = self.root, shorten(name, 200)
        name = name.strip("\r\n\t")
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if name.lstrip().startswith("/"):
            raise ToolError(f"{shown}: paths are relative to the folder, such as 'README.md'")
        for problem in filter(None, map(_problem, parts)):
            raise ToolError(f"{shown}: {problem}")
        try:
            return self._inside(root.joinpath(*parts), shown)
        except FileNotFoundError as error:
            if name != name.strip():
                return self.resolve(name.strip())
            raise ToolError(f"{shown} does not exist{self._nearest('/'.join(parts)[:300])}") from error

    def name(self, path: Path) -> str:
        """The path that the model is told, relative to the root."""
        return path.relative_to(self.root).as_posix()

    def text(self, path: Path) -> str:
        """The text of a file of this folder. Raises ToolError with the reason why it cannot be read."""
        name = self.name(path)
        try:
            return read_text(self._inside(path, name), FILE_LIMIT_BYTES)
        except OSError as error:
            raise ToolError(f"{name}: {error.strerror or error}") from error

    def size(self, path: Path) -> int:
        """Size of a file of this folder, in bytes. Raises ToolError when it is gone."""
        try:
            return path.stat().st_size
        except OSError as error:
            raise ToolError(f"{self.name(path)}: {error.strerror or error}") from error

    def files(self, folder: Path) -> list[Path]:
        """The regular files below a resolved folder, sorted by path; at most `MAX_FILES`."""
        found = islice(self._walk(folder), MAX_FILES)
        return sorted(found, key=lambda path: (path.parent.parts, path.name))

    def _inside(self, path: Path, shown: str) -> Path:
        root = self.root
        try:
            target = path.resolve(strict=True)
        except FileNotFoundError:
            raise
        except (OSError, RuntimeError) as error:
            reason = getattr(error, "strerror", None) or "it is a link that leads to itself"
            raise ToolError(f"{shown}: {reason}") from error
        if not target.is_relative_to(root):
            raise ToolError(f"{shown}: it is a link that leaves the folder")
        if any(map(_hidden, target.relative_to(root).parts)):
            raise ToolError(f"{shown}: hidden files are not shown")
        return target

    def _walk(self, folder: Path) -> Iterator[Path]:
        for where, folders, names in os.walk(folder):
            folders[:] = sorted(name for name in folders if not _problem(name))
            for name in sorted(names):
                if not _problem(name) and self._is_file(Path(where, name)):
                    yield Path(where, name)

    def _is_file(self, path: Path) -> bool:
        try:
            mode = path.lstat().st_mode
            return stat.S_ISREG(self._inside(path, "").stat().st_mode if stat.S_ISLNK(mode) else mode)
        except (OSError, ToolError):
            return False

    def _nearest(self, wanted: str) -> str:
        names = {self.name(path).casefold(): path for path in islice(self._walk(self.root), 1_000)}
        same = [name for name in names if f"/{name}".endswith(f"/{wanted.casefold()}")]
        near = same or difflib.get_close_matches(wanted.casefold(), names, n=3, cutoff=0.5)
        return f"; nearest: {', '.join(self.name(names[name]) for name in near[:3])}" if near else ""


def _problem(part: str) -> str:
    """Why a part of a path is not even looked up, "" when it may be."""
    if part == "..":
        return "a path cannot leave the folder"
    if "\\" in part or PureWindowsPath(part).drive:
        return "write paths with /, without a drive"
    if UNPRINTABLE.search(part):
        return "a path cannot hold control characters"
    return "hidden files are not shown" if _hidden(part) else ""


def _hidden(part: str) -> bool:
    return part.startswith(".") or part == "__pycache__"
