"""The files of a folder of articles: their list, a mark that changes with each file, and their contents."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from corpus.article import Article, parse
from corpus.reading import read_text

SUFFIXES = (".md", ".markdown", ".txt")
FILE_LIMIT_BYTES = 2_000_000
LASTING = (errno.EILSEQ, errno.EFBIG)
"""Faults of a file itself; any other failure may be gone the next time."""


class Skipped(NamedTuple):
    """A file that was left out, and why."""

    path: str
    reason: str
    lasts: bool = False


class File(NamedTuple):
    """A file that may be an article.

    Its name below the folder as bytes, with `/`; its path; a mark that changes with its content: its times, its size
    and, for a link, its target.
    """

    name: bytes
    place: str
    mark: str

    @property
    def path(self) -> str:
        """The name for display."""
        return self.name.decode(errors="replace")


def look(folder: Path) -> Iterator[File | Skipped]:
    """Every Markdown and text file below `folder`, in order; hidden ones and links to folders are ignored."""
    unread: list[Skipped] = []

    def unreadable(error: OSError) -> None:
        path = Path(error.filename).relative_to(folder)
        unread.append(Skipped(path.as_posix(), error.strerror or str(error)))

    for where, folders, names in os.walk(folder, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        below = Path(where).relative_to(folder).as_posix()
        for name in sorted(names):
            if name.lower().endswith(SUFFIXES) and not name.startswith("."):
                yield _seen(folder, f"{where}{os.sep}{name}", name if below == "." else f"{below}/{name}")
    yield from unread


def _seen(folder: Path, place: str, name: str) -> File | Skipped:
    file = File(os.fsencode(name), place, "")
    try:
        status, target = os.lstat(place), ""
        if stat.S_ISLNK(status.st_mode):
            target = place = str(_inside(Path(place), folder))
            status = os.lstat(place)
    except (OSError, ValueError) as error:
        return Skipped(file.path, getattr(error, "strerror", None) or str(error))
    mark = f"{status.st_mtime_ns} {status.st_ctime_ns} {status.st_size} {target!a}"
    return File(file.name, place, mark)


def _inside(link: Path, folder: Path) -> Path:
    try:
        target = link.resolve(strict=True)
    except (RuntimeError, OSError) as error:  # a loop of links: RuntimeError before Python 3.13, OSError since
        if isinstance(error, OSError) and error.errno != errno.ELOOP:
            raise
        raise ValueError("it is a link that leads to itself") from error
    if not target.is_relative_to(folder.resolve()):
        raise ValueError("it is a link that leaves the folder")
    return target


def read(file: File) -> Article | Skipped:
    """The article in a file, or why it cannot be used: not text, broken front matter, unreadable, too large, empty."""
    try:
        return parse(read_text(Path(file.place), FILE_LIMIT_BYTES), file.path)
    except ValueError as error:
        return Skipped(file.path, str(error), lasts=True)
    except OSError as error:
        return Skipped(file.path, error.strerror or str(error), error.errno in LASTING)
