"""A folder that the model may read, and nothing outside it."""

from __future__ import annotations

import difflib
import errno
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path, PureWindowsPath
from typing import NamedTuple

from thimble.agent.errors import ToolError
from thimble.corpus.markdown import shorten
from thimble.corpus.safe_open import OpenedFile, open_below, read_opened, walk_folder

READ_BYTES = 5_000_000
FOLDER_FILES = 20_000
PATH_LETTERS = 4_096
"""The most characters of a path."""
COMPARED, ALIKE = 1_000, 100
"""The most paths that a missing one is compared with, and the most characters of each."""
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


class Found(NamedTuple):
    """A file or folder: its path without links, relative to the root, "." for the root itself."""

    name: str
    is_folder: bool


class Folder:
    """A root folder, reopened at each use: it may be missing, and it may change while a session runs.

    A path is relative to the root, with `/` between its parts. Refused with a ToolError: an absolute path, `..`, a
    drive letter, a backslash, a control character, a link that leaves the root, a hidden part, anything but a regular
    file, a path too long or too deep. Refused files are not listed either. Nothing outside is read, even if a part of
    the path is swapped for a link: see `corpus.safe_open`.
    """

    def __init__(self, root: Path) -> None:
        self._root = root

    def find(self, name: str) -> Found:
        """The existing file or folder at a path; the end of a path is enough if only one file has it."""
        shown, name = shorten(name[: 2 * PATH_LETTERS], 200), name.strip("\r\n\t")
        if len(name) > PATH_LETTERS:
            raise ToolError(f"{shown}: a path has at most {PATH_LETTERS:,} characters")
        if name.lstrip().startswith("/"):
            raise ToolError(f"{shown}: paths are relative to the folder, such as 'README.md'")
        parts = [part for part in name.split("/") if part not in ("", ".")]
        if ".." in parts:
            raise ToolError(f"{shown}: a path cannot leave the folder")
        try:
            with self._opened(parts, shown) as found:
                return Found("/".join(found.parts) or ".", found.is_folder)
        except FileNotFoundError as error:
            if name != name.strip():
                return self.find(name.strip())
            same, near = self._find_similar("/".join(parts)[:300])
            if len(same) == 1:
                return self.find(same[0])
            nearest = f"; nearest: {', '.join((same or near)[:3])}" if same or near else ""
            raise ToolError(f"{shown} does not exist{nearest}") from error

    def text(self, name: str) -> str:
        """The text of a file of this folder. Raises ToolError with the reason why it cannot be read."""
        with self._existing(name) as found:
            return read_opened(found, READ_BYTES)

    def size(self, name: str) -> int:
        """Size of a file of this folder, in bytes. Raises ToolError if it is gone."""
        with self._existing(name) as found:
            return found.status.st_size

    def files(self, folder: str = ".") -> tuple[list[str], int]:
        """The files below a folder, sorted by path, at most `FOLDER_FILES`; and the number of folders not read."""
        unread = 0
        names: list[str] = []
        with self._existing(folder) as top:
            for name in islice(self._walk(top), FOLDER_FILES):
                unread += not name
                names += [name] if name else []
        return sorted(names, key=lambda name: (name.split("/")[:-1], name)), unread

    @contextmanager
    def _opened(self, parts: list[str], shown: str) -> Iterator[OpenedFile]:
        if not self._root.is_dir():
            raise ToolError(f"there are no files to read: the folder {self._root.name!r} does not exist")
        try:
            with open_below(self._root, parts, _refuse_part) as found:
                yield found
        except FileNotFoundError:
            raise
        except OSError as error:
            raise ToolError(f"{shown}: {error.strerror or error}") from error

    @contextmanager
    def _existing(self, name: str) -> Iterator[OpenedFile]:
        try:
            with self._opened([] if name == "." else name.split("/"), name) as found:
                yield found
        except FileNotFoundError as error:
            raise ToolError(f"{name}: {error.strerror}") from error

    def _walk(self, top: OpenedFile) -> Iterator[str]:
        """Yield each file, and "" for each folder that cannot be read."""
        for parts, status in walk_folder(top, lambda name, is_folder: not _find_problem(name)):
            if isinstance(status, OSError):
                yield ""
            elif stat.S_ISREG(status.st_mode) or (stat.S_ISLNK(status.st_mode) and self._leads_to_file(parts)):
                yield "/".join(parts)

    def _leads_to_file(self, parts: tuple[str, ...]) -> bool:
        try:
            with open_below(self._root, parts, _refuse_part) as found:
                return not found.is_folder
        except OSError:
            return False

    def _find_similar(self, wanted: str) -> tuple[list[str], list[str]]:
        """The files whose path ends with `wanted`, and those with a similar path."""
        with self._existing(".") as top:
            names = {name.casefold(): name for name in islice(self._walk(top), COMPARED)}
        wanted = wanted.casefold()
        same = [names[name] for name in names if f"/{name}".endswith(f"/{wanted}")]
        short = [name for name in names if len(name) <= ALIKE]
        return same, [names[name] for name in difflib.get_close_matches(wanted[:ALIKE], short, n=3, cutoff=0.5)]


def _refuse_part(part: str) -> None:
    if problem := _find_problem(part):
        raise OSError(errno.EACCES, problem)


def _find_problem(part: str) -> str:
    """Why a part of a path is refused before it is looked up, or ""."""
    if "\\" in part or PureWindowsPath(part).drive:
        return "write paths with /, without a drive"
    if UNPRINTABLE.search(part):
        return "a path cannot hold control characters"
    return "hidden files are not shown" if _hidden(part) else ""


def _hidden(part: str) -> bool:
    return part.startswith(".") or part == "__pycache__"
