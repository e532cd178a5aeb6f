"""The store: one SQLite file, a row for each finished job. Whatever ends the program, finished jobs stay.

Each row is a transaction in the write-ahead log. If the machine itself loses power, the newest rows may be gone; their
jobs are then asked again.
"""

from __future__ import annotations

import json
import os
import sqlite3
import sys
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from agent.errors import UsageError
from lab.experiments.questions import fingerprint
from lab.run.ask import Answer, Result
from lab.run.jobs import FIGURES, Job, named

SCHEMA = 1
"""The version of the table, in the file's `user_version`."""
APPLICATION = 0x7481_3B1E
"""The file's `application_id`, which tells a store from another database."""
LOCKED_AT = 1 << 40
"""The byte that a writer locks: far behind those that SQLite reads and locks."""
CODE = (
    *(f"{room}/**/*.py" for room in ("agent", "corpus", "models", "session", "strategies", "tools")),
    "corpus/articles/*.md",
    "corpus/files/**/*.*",
)
"""All that an answer comes from, but for the questions, which are in the keys."""
TABLE = """
CREATE TABLE IF NOT EXISTS results (
    key TEXT PRIMARY KEY,
    question TEXT NOT NULL,
    digest TEXT NOT NULL,
    kind TEXT NOT NULL,
    model TEXT NOT NULL,
    strategy TEXT NOT NULL,
    budget INTEGER NOT NULL,
    seed INTEGER,
    temperature REAL,
    summariser TEXT NOT NULL,
    memory TEXT NOT NULL,
    price TEXT NOT NULL,
    code TEXT NOT NULL,
    made_by TEXT NOT NULL,
    finished REAL NOT NULL,
    seconds REAL NOT NULL,
    tries INTEGER NOT NULL,
    spent REAL NOT NULL,
    error TEXT NOT NULL,
    answers TEXT NOT NULL
) STRICT
"""


@dataclass(frozen=True, slots=True)
class Row:
    """A finished job.

    `made_by` is the fingerprint of the code that answered. `finished` is in seconds since 1970. `tries` counts how
    often it was done, and `spent` is the cost of all tries. The rest is as in Job and Result.
    """

    key: str
    question: str
    digest: str
    kind: str
    model: str
    strategy: str
    budget: int
    seed: int | None
    temperature: float | None
    summariser: str
    memory: str
    price: str
    code: str
    made_by: str
    finished: float
    seconds: float
    tries: int
    spent: float
    error: str
    answers: tuple[Answer, ...]


@cache
def made_by() -> str:
    """The fingerprint of the code and the articles that are asked now."""
    return fingerprint(*CODE)


class Store:
    """A file of results. One process writes it; others may read it meanwhile.

    Raises:
        UsageError: it cannot be opened, is no store or a newer one, or another process writes it.
    """

    def __init__(self, path: Path, *, write: bool = False) -> None:
        self.path = path
        if not write and not path.is_file():
            raise UsageError(f"there is no store {path}", "--strategy SPEC… begins one")
        with ExitStack() as opening:
            if write:
                opening.callback(os.close, _locked(path))  # last: closing it would also drop the locks of SQLite
            try:
                self._file = sqlite3.connect(path, isolation_level=None)
                opening.callback(self._file.close)
                self._begin(write)
            except sqlite3.Error as error:
                raise UsageError(f"{path} cannot be used: {error}", "give --store another file") from error
            self._open = opening.pop_all()

    def _begin(self, write: bool) -> None:
        (tables,) = self._ask("SELECT count(*) FROM sqlite_master")
        (application,), (schema,) = self._ask("PRAGMA application_id"), self._ask("PRAGMA user_version")
        if tables and application != APPLICATION:
            raise UsageError(f"{self.path} is a database of another program", "give --store another file")
        if schema > SCHEMA:
            raise UsageError(f"{self.path} is of a newer thimble", "read it with that one, or take another --store")
        if write:
            self._file.execute("PRAGMA journal_mode = WAL")
            self._file.execute("PRAGMA synchronous = NORMAL")
            self._file.executescript(
                f"BEGIN; {TABLE}; PRAGMA application_id = {APPLICATION}; PRAGMA user_version = {SCHEMA}; COMMIT"
            )
        elif not tables:
            raise UsageError(f"{self.path} holds no results yet", "--strategy SPEC… begins a study")

    def _ask(self, query: str) -> tuple[Any, ...]:
        """The first row of an answer."""
        found: tuple[Any, ...] = self._file.execute(query).fetchone()
        return found

    def add(self, job: Job, result: Result) -> None:
        """Keep the result of a job; that of an earlier try, which failed, is replaced.

        Raises:
            UsageError: the disk is full, or the file cannot be written any more.
        """
        row = {name: getattr(job, name) for name in FIGURES} | {
            "key": job.key,
            "question": job.question.id,
            "digest": job.digest,
            "kind": job.question.kind,
            "model": named(job.model),
            "made_by": made_by(),
            "finished": time.time(),
            "seconds": result.seconds,
            "tries": 1,
            "spent": result.spent,
            "error": result.error,
            "answers": json.dumps([asdict(answer) for answer in result.answers]),
        }
        names, values = ", ".join(row), ", ".join(f":{name}" for name in row)
        later = ", ".join(f"{name} = excluded.{name}" for name in row if name not in ("key", "tries", "spent"))
        again = f"{later}, tries = tries + 1, spent = spent + excluded.spent"
        query = f"INSERT INTO results ({names}) VALUES ({values}) ON CONFLICT (key) DO UPDATE SET {again}"
        try:
            self._file.execute(query, row)
        except sqlite3.Error as error:
            what = f"{self.path} cannot be written: {error}"
            raise UsageError(what, "make room, then give the same command again") from error

    def rows(self) -> list[Row]:
        """All rows, by their keys."""
        names = [field.name for field in fields(Row)]
        found = self._file.execute(f"SELECT {', '.join(names)} FROM results ORDER BY key").fetchall()
        return [_row(dict(zip(names, values, strict=True))) for values in found]

    def close(self) -> None:
        """Close the file, and let others write it."""
        self._open.close()


def _row(values: dict[str, Any]) -> Row:
    answers = (Answer(**answer | {"places": tuple(answer["places"])}) for answer in json.loads(values["answers"]))
    return Row(**values | {"answers": tuple(answers)})


def _locked(path: Path) -> int:
    """The open file, locked for this process alone, until it ends, however it ends; its children do not hold it."""
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise UsageError(f"{path} cannot be opened: {error.strerror}", "give --store the path of a file") from error
    try:
        _lock(file)
    except OSError as error:
        os.close(file)
        what = f"{path} is written by another thimble lab run"
        raise UsageError(what, "wait for its end, or take another --store") from error
    return file


if sys.platform == "win32":
    import msvcrt

    def _lock(file: int) -> None:
        os.lseek(file, LOCKED_AT, os.SEEK_SET)
        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _lock(file: int) -> None:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, LOCKED_AT)
