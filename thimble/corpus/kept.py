"""A cache of a folder's articles in an SQLite file: the next time, only changed files are read.

A cache file is never changed: a new file is written next to it and replaces it, so an open session keeps its articles.
A file that is damaged or from another version is made again; if none can be written, all is read into memory.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import asdict
from functools import cache
from pathlib import Path
from zlib import crc32

from thimble.corpus.article import Article, Section
from thimble.corpus.folder import File, Skipped, read_article
from thimble.corpus.index import TABLE, Index, add_article, remove_passages

FILES_PER_COMMIT = 100
"""Files between two commits: the most that are read again if the reading is interrupted."""

Progress = Callable[[int, int], object]
"""Called with the number of files read, and the number of files to read."""


@cache
def cache_version() -> int:
    """The version of the reading code and of Python: a file of another version is not used."""
    code = b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))
    return crc32(code + sys.version.encode()) & 0x7FFFFFFF


def load_files(path: Path, files: Sequence[File], progress: Progress) -> tuple[list[Article | Skipped], Index | None]:
    """The contents of these files, in their order, and the index of their articles; `path` is the cache file."""
    for _ in range(2):
        try:
            if not path.exists() or _read_marks(path) != {file.name: file.mark for file in files}:
                _replace_cache(path, files, progress)
            return _read_cache(path, files)
        except (OSError, sqlite3.Error, LookupError, TypeError, ValueError):
            with suppress(OSError):
                path.unlink(missing_ok=True)
    found = []
    for done, file in enumerate(files):
        progress(done, len(files))
        found.append(read_article(file))
    return found, None


def _open_cache(path: Path) -> sqlite3.Connection:
    """The cache file, opened to read. Raises sqlite3.Error, also if another version made it."""
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?immutable=1", uri=True, check_same_thread=False)
    try:
        if connection.execute("PRAGMA user_version").fetchone()[0] != cache_version():
            raise sqlite3.DatabaseError("of another version")
    except BaseException:
        connection.close()
        raise
    return connection


def _read_marks(path: Path) -> dict[bytes, str]:
    with closing(_open_cache(path)) as connection:
        return dict(connection.execute("SELECT name, mark FROM files"))


def _replace_cache(path: Path, files: Sequence[File], progress: Progress) -> None:
    """Replace the cache file by one of these files; after Ctrl-C it has the files that were read."""
    from shutil import copyfile
    from tempfile import mkstemp

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor, name = mkstemp(prefix=f".{path.name}.", dir=path.parent)  # of this thread alone, mode 0600
    os.close(descriptor)
    draft = Path(name)
    try:
        if path.exists():
            copyfile(path, draft)
        with closing(sqlite3.connect(draft)) as connection:
            connection.execute("PRAGMA journal_mode = MEMORY")
            connection.execute("PRAGMA synchronous = OFF")  # after damage by a power cut, the files are read again
            _update_cache(connection, files, progress)
    finally:
        draft.replace(path)


def _update_cache(connection: sqlite3.Connection, files: Sequence[File], progress: Progress) -> None:
    """Read new and changed files, and forget missing ones."""
    if not connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
        connection.execute("CREATE TABLE files(number INTEGER PRIMARY KEY, name BLOB, mark TEXT, found BLOB)")
        connection.execute(TABLE)
        connection.execute(f"PRAGMA user_version = {cache_version()}")
    known = {name: (mark, number) for name, mark, number in connection.execute("SELECT name, mark, number FROM files")}
    marks = {file.name: file.mark for file in files}
    for name, (mark, number) in known.items():
        if marks.get(name) != mark:
            connection.execute("DELETE FROM files WHERE number = ?", (number,))
            remove_passages(connection, number)
    new = [file for file in files if known.get(file.name, ("",))[0] != file.mark]
    for done, file in enumerate(new):
        if done % FILES_PER_COMMIT == 0:
            connection.commit()
        progress(done, len(new))
        _store_file(connection, file, read_article(file))
    connection.commit()


def _store_file(connection: sqlite3.Connection, file: File, found: Article | Skipped) -> None:
    """Add a file; one whose failure may be gone the next time gets no mark, so that it is read again."""
    mark = "" if isinstance(found, Skipped) and not found.lasts else file.mark
    told = json.dumps(found.reason if isinstance(found, Skipped) else asdict(found)).encode()
    number = connection.execute(
        "INSERT INTO files(name, mark, found) VALUES (?, ?, ?)", (file.name, mark, told)
    ).lastrowid
    if isinstance(found, Article):
        add_article(connection, number or 0, found)


def _read_cache(path: Path, files: Sequence[File]) -> tuple[list[Article | Skipped], Index]:
    places: dict[int, int] = {}
    connection = _open_cache(path)
    index = Index(connection, places, path)
    rows = {name: (number, told) for name, number, told in connection.execute("SELECT name, number, found FROM files")}
    found: list[Article | Skipped] = []
    for file in files:
        number, told = rows[file.name]
        facts = json.loads(told)
        if isinstance(facts, str):
            found.append(Skipped(file.path, facts))
            continue
        places[number] = len(places)
        lists = {"tags": tuple(facts["tags"]), "sources": tuple(facts["sources"])}
        sections = tuple(Section(**each) for each in facts["sections"])
        found.append(Article(**facts | lists | {"path": file.path, "sections": sections}))
    return found, index
