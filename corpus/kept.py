"""A cache of a folder's articles in an SQLite file: the next time, only changed files are read.

The file is never trusted and never stops a session. If it is damaged or of another version, it is made again; if it
cannot be written, or another process is writing, all is read into memory. Each article is in it whole or not at all. An
open session has its own snapshot.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from typing import Any
from zlib import crc32

from corpus.article import Article, Section
from corpus.folder import File, Skipped, read
from corpus.index import TABLE, Index, add, remove

LOCK_SECONDS = 0.2
COMMIT_SECONDS = 1.0
"""The most work, in seconds, that is lost if the process is killed."""
FILES = """CREATE TABLE files(id INTEGER PRIMARY KEY, name BLOB UNIQUE, mark TEXT, reason TEXT,
    slug TEXT, title TEXT, tags TEXT, date TEXT, summary TEXT, sources TEXT, words INTEGER, subject TEXT)"""
FACTS = "slug, title, tags, date, summary, sources, words, subject"
TEXTS = "CREATE TABLE texts(id INTEGER PRIMARY KEY, sections TEXT)"

Progress = Callable[[int, int], object]
"""Called with the number of files read, and the number of files to read."""


@cache
def version() -> int:
    """The version of the reading code and of Python: a file of another version is not used."""
    code = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    return crc32(code + sys.version.encode()) & 0x7FFFFFFF


def kept(path: Path, files: Sequence[File], progress: Progress) -> tuple[list[Article | Skipped], Index]:
    """The contents of these files, in their order, and the index of their articles; `path` is the cache file."""
    for _ in range(2):
        try:
            return _read(_opened(path), path, files, progress)
        except sqlite3.OperationalError:  # in use, read-only, or the disk is full
            continue
        except (sqlite3.DatabaseError, ValueError, TypeError):  # damaged, or of another version
            with suppress(OSError):
                forget(path)
        except OSError:
            break
    return _read(_made(":memory:"), None, files, progress)


def forget(path: Path) -> None:
    """Delete the cache file and its journals. Raises OSError."""
    for end in ("", "-wal", "-shm"):
        Path(f"{path}{end}").unlink(missing_ok=True)


def _opened(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
    return _made(str(path))


def _made(place: str) -> sqlite3.Connection:
    """A database with its tables."""
    connection = sqlite3.connect(
        place, timeout=LOCK_SECONDS, check_same_thread=False, isolation_level="IMMEDIATE", cached_statements=32
    )
    try:
        connection.execute("PRAGMA journal_mode = WAL")  # a reader does not wait for a writer, nor the other way round
        connection.execute("PRAGMA synchronous = OFF")  # after damage by a power cut, the files are read again
        if not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
            connection.execute("BEGIN IMMEDIATE")
            for table in (FILES, TEXTS, TABLE, f"PRAGMA user_version = {version()}"):
                connection.execute(table)
            connection.commit()
        if connection.execute("PRAGMA user_version").fetchone()[0] != version():
            raise sqlite3.DatabaseError("of another version")
        return connection
    except BaseException:
        connection.close()
        raise


def _read(
    connection: sqlite3.Connection, path: Path | None, files: Sequence[File], progress: Progress
) -> tuple[list[Article | Skipped], Index]:
    """Update the database, then hold a snapshot of it."""
    try:
        passing = _update(connection, files, progress)
        connection.execute("BEGIN")
        rows = {row[0]: row[1:] for row in connection.execute(f"SELECT name, mark, id, reason, {FACTS} FROM files")}
        if {name: row[0] for name, row in rows.items()} != {f.name: f.mark for f in files if f.name not in passing}:
            raise sqlite3.OperationalError("another process has changed it")
    except BaseException:
        connection.close()
        raise
    places: dict[int, int] = {}
    index = Index(connection, places, partial(forget, path) if path else None)
    found: list[Article | Skipped] = []
    for file in files:
        if file.name in passing:
            found.append(passing[file.name])
            continue
        _, number, reason, slug, title, tags, date, summary, sources, words, subject = rows[file.name]
        if reason:
            found.append(Skipped(file.path, reason, lasts=True))
            continue
        places[number] = len(places)
        said = slug, title, _items(tags), date, summary, _items(sources), file.path, words, subject
        found.append(Article(*said, KeptSections(index, number)))
    return found, index


def _update(connection: sqlite3.Connection, files: Sequence[File], progress: Progress) -> dict[bytes, Skipped]:
    """Read new and changed files, and forget missing ones; the failures that may be gone the next time."""
    known = {name: (mark, number) for name, mark, number in connection.execute("SELECT name, mark, id FROM files")}
    marks = {file.name: file.mark for file in files}
    for name, (mark, number) in known.items():
        if marks.get(name) != mark:
            connection.execute("DELETE FROM files WHERE id = ?", (number,))
            connection.execute("DELETE FROM texts WHERE id = ?", (number,))
            remove(connection, number)
    new = [file for file in files if known.get(file.name, ("",))[0] != file.mark]
    passing: dict[bytes, Skipped] = {}
    committed = time.monotonic()
    for done, file in enumerate(new):
        progress(done, len(new))
        found = read(file)
        if isinstance(found, Skipped) and not found.lasts:
            passing[file.name] = found
        else:
            _keep(connection, file, found)
        if time.monotonic() - committed > COMMIT_SECONDS:
            connection.commit()
            committed = time.monotonic()
    connection.commit()
    return passing


def _keep(connection: sqlite3.Connection, file: File, found: Article | Skipped) -> None:
    if isinstance(found, Skipped):
        sql = "INSERT INTO files(name, mark, reason) VALUES (?, ?, ?)"
        connection.execute(sql, (file.name, file.mark, found.reason))
        return
    facts = found.slug, found.title, "\n".join(found.tags), found.date, found.summary, "\n".join(found.sources)
    sql = f"INSERT INTO files(name, mark, reason, {FACTS}) VALUES (?, ?, '', ?, ?, ?, ?, ?, ?, ?, ?)"
    number = connection.execute(sql, (file.name, file.mark, *facts, found.words, found.subject)).lastrowid or 0
    texts = json.dumps([(section.title, section.text) for section in found.sections])
    connection.execute("INSERT INTO texts VALUES (?, ?)", (number, texts))
    add(connection, number, found)


def _items(lines: str) -> tuple[str, ...]:
    return tuple(lines.split("\n")) if lines else ()


class KeptSections(Sequence[Section]):
    """The sections of an article, read on demand."""

    __slots__ = ("_index", "_number")

    def __init__(self, index: Index, number: int) -> None:
        self._index = index
        self._number = number

    def _all(self) -> tuple[Section, ...]:
        rows = self._index.ask("SELECT sections FROM texts WHERE id = ?", self._number)
        try:
            ((texts,),) = rows
            return tuple(Section(title, text) for title, text in json.loads(texts))
        except (ValueError, TypeError) as error:
            raise self._index.damaged() from error

    def __getitem__(self, at: Any) -> Any:
        """One section, or several."""
        return self._all()[at]

    def __iter__(self) -> Iterator[Section]:
        """Each section, in order."""
        return iter(self._all())

    def __len__(self) -> int:
        """The number of sections."""
        return len(self._all())

    def __eq__(self, other: object) -> bool:
        """Whether both have the same sections."""
        return isinstance(other, Sequence) and self._all() == tuple(other)

    def __hash__(self) -> int:
        """The hash of the same sections in memory."""
        return hash(self._all())
