"""A store: a file of JSON lines, one for each finished job. Whatever ends the program, finished jobs stay.

If the machine itself loses power, the newest lines may be gone; their jobs are then done again.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from thimble.agent.errors import UsageError
from thimble.session.file_lock import lock_file


class Store:
    """Records by their `key`, which comes first in each. One process writes a store; others may read it meanwhile.

    Without a path it is a file that is gone when the store is closed.

    Raises:
        UsageError: it cannot be opened, is no store, or another process writes it.
    """

    def __init__(self, path: Path | None, *, write: bool = False) -> None:
        self.path = path
        if path and not write and not path.is_file():
            raise UsageError(f"there is no store {path}", "name cases to begin one, such as --strategy SPEC…")
        try:
            self._file: IO[bytes] = path.open("a+b" if write else "rb") if path else TemporaryFile()  # noqa: SIM115
        except OSError as error:
            raise UsageError(f"{path} cannot be opened", "give --store the path of a file") from error
        try:
            if path and write:
                self._lock()
            self.records()
            if write:
                self._cut()
        except UsageError:
            self.close()
            raise

    def _lock(self) -> None:
        """Refuse a second writer."""
        try:
            lock_file(self._file.fileno())
        except BlockingIOError as error:
            what = f"{self.path} is written by another thimble lab"
            raise UsageError(what, "wait for its end, or take another --store") from error
        except OSError as error:
            what = f"{self.path} cannot be locked: {error.strerror}"
            raise UsageError(what, "take a --store on a disk of this machine") from error

    def _cut(self) -> None:
        """Cut off half a line that a killed writer has left."""
        self._file.seek(0)
        self._file.truncate(self._file.read().rfind(b"\n") + 1)

    def add(self, record: dict[str, Any]) -> None:
        """Keep the record of a finished job; it replaces an earlier one with its key.

        Raises:
            UsageError: the disk is full, or the file cannot be written any more.
        """
        try:
            self._file.write(json.dumps(record).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            what = f"{self.path} cannot be written: {error.strerror}"
            raise UsageError(what, "make room, or give --store another file") from error

    def records(self) -> list[dict[str, Any]]:
        """The newest record of each key, by their keys."""
        self._file.seek(0)
        *lines, torn = self._file.read().split(b"\n")
        found: dict[str, dict[str, Any]] = {}
        if not torn.startswith(b'{"key": '[: len(torn)]):  # what a killed writer leaves begins as a record
            lines.append(torn)
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
                record["rows"], record["spent"]
                found[record["key"]] = record
            except (ValueError, KeyError, TypeError) as error:
                what = f"{self.path}, line {number}, is no result of a study"
                raise UsageError(what, "give --store another file; one of an older thimble cannot be read") from error
        return [found[key] for key in sorted(found)]

    def close(self) -> None:
        """Close the file, and let others write it."""
        self._file.close()
