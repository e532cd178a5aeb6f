"""The store: one SQLite file, a row for each finished job. Whatever ends the program, finished jobs stay.

Each row is a transaction in the write-ahead log. If the machine itself loses power, the newest rows may be gone; their
jobs are then asked again.
"""

from __future__ import annotations

import json
import sqlite3
import time
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from agent.errors import UsageError
from lab.questions import fingerprint
from lab.run.ask import Answer, Result
from lab.run.jobs import FIGURES, Job, named

SCHEMA = 1
"""The version of the table, in the file's `user_version`."""
APPLICATION = 0x7481_3B1E
"""The file's `application_id`, which tells a store from another database."""
BEGIN = "BEGIN IMMEDIATE"
"""Begins a transaction that writes; of these there is one at a time."""
READER_SECONDS = 5.0
"""How long a reader waits for a moment in which the file can be read."""
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
        try:
            self._file = sqlite3.connect(path, timeout=0 if write else READER_SECONDS, isolation_level=None)
        except sqlite3.Error as error:
            raise UsageError(f"{path} cannot be opened", "give --store the path of a file") from error
        try:
            self._begin(write)
        except (sqlite3.Error, UsageError) as error:
            self.close()
            raise self._unusable(error) from error

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
            self._file.execute(BEGIN)
            self._file.execute(TABLE)
            self._file.execute(f"PRAGMA application_id = {APPLICATION}")
            self._file.execute(f"PRAGMA user_version = {SCHEMA}")
            self._commit()
        elif not tables:
            raise UsageError(f"{self.path} holds no results yet", "--strategy SPEC… begins a study")

    def _commit(self) -> None:
        """Keep what was written, and begin the next transaction at once: while it is open, no other process writes."""
        self._file.execute("COMMIT")
        self._file.execute(BEGIN)

    def _unusable(self, error: Exception) -> UsageError:
        if isinstance(error, UsageError):
            return error
        if isinstance(error, sqlite3.Error) and error.sqlite_errorcode == sqlite3.SQLITE_BUSY:
            what = f"{self.path} is written by another thimble lab run"
            return UsageError(what, "wait for its end, or take another --store")
        return UsageError(f"{self.path} cannot be used: {error}", "make room, or give --store another file")

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
            self._commit()
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def rows(self) -> list[Row]:
        """All rows, by their keys."""
        names = [field.name for field in fields(Row)]
        found = self._file.execute(f"SELECT {', '.join(names)} FROM results ORDER BY key").fetchall()
        return [_row(dict(zip(names, values, strict=True))) for values in found]

    def close(self) -> None:
        """Close the file, and let others write it."""
        self._file.close()


def _row(values: dict[str, Any]) -> Row:
    answers = (Answer(**answer | {"places": tuple(answer["places"])}) for answer in json.loads(values["answers"]))
    return Row(**values | {"answers": tuple(answers)})
