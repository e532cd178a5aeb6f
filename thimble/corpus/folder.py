"""The files of a folder of articles: their list, a mark that changes with each file, and their contents."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from thimble.corpus.article import Article, parse_article
from thimble.corpus.safe_open import open_below, read_below, walk_folder

SUFFIXES = (".md", ".markdown", ".txt")
ARTICLE_BYTES = 2_000_000
PATH_CHARACTERS = 200
"""Characters of a path that is left out."""
PERMANENT_ERRORS = (errno.EILSEQ, errno.EFBIG)
"""Faults of a file itself; any other failure may be gone the next time."""


class Skipped(NamedTuple):
    """A file that was left out, or a part of one, and why."""

    path: str
    reason: str
    lasts: bool = False


class File(NamedTuple):
    """A file that may be an article.

    The folder; its name below that as bytes, with `/`; a mark that changes with its content: its times, its size and,
    for a link, its target.
    """

    folder: Path
    name: bytes
    mark: str

    @property
    def path(self) -> str:
        """The name for display."""
        return self.name.decode(errors="replace")


def list_files(folder: Path) -> Iterator[File | Skipped]:
    """Every Markdown and text file below `folder`, in order; hidden ones and links to folders are ignored."""
    unread: list[Skipped] = []
    try:
        with open_below(folder, ()) as top:
            for parts, status in walk_folder(top, _is_wanted):
                if isinstance(status, OSError):
                    unread.append(Skipped(_shorten_path(parts), status.strerror or str(status)))
                else:
                    yield _classify(folder, parts, status)
    except OSError as error:
        unread.append(Skipped(".", error.strerror or str(error)))
    yield from unread


def _is_wanted(name: str, is_folder: bool) -> bool:
    return not name.startswith(".") and (is_folder or name.lower().endswith(SUFFIXES))


def _classify(folder: Path, parts: Sequence[str], status: os.stat_result) -> File | Skipped:
    target = ""
    if stat.S_ISLNK(status.st_mode):
        try:
            with open_below(folder, parts) as found:
                status, target = found.status, "/".join(found.parts)
        except OSError as error:
            return Skipped(_shorten_path(parts), error.strerror or str(error))
    mark = f"{status.st_mtime_ns} {status.st_ctime_ns} {status.st_size} {target!a}"
    return File(folder, os.fsencode("/".join(parts)), mark)


def _shorten_path(parts: Sequence[str]) -> str:
    """A path for display, without the middle of a very long one."""
    path = os.fsencode("/".join(parts)).decode(errors="replace") or "."
    return path if len(path) <= PATH_CHARACTERS else f"{path[: PATH_CHARACTERS // 2]}…{path[-PATH_CHARACTERS // 2 :]}"


def read_article(file: File) -> Article | Skipped:
    """The article in a file, or why it cannot be used: not text, unreadable, too large, empty."""
    try:
        return parse_article(read_below(file.folder, os.fsdecode(file.name).split("/"), ARTICLE_BYTES), file.path)
    except ValueError as error:
        return Skipped(file.path, str(error), lasts=True)
    except OSError as error:
        return Skipped(file.path, error.strerror or str(error), error.errno in PERMANENT_ERRORS)
