"""A store: a file of JSON lines, one for each finished job. Finished jobs survive any end of the program.

After a power failure the newest lines may be missing; their jobs then run again.
"""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from thimble.agent.errors import UsageError
from thimble.session.file_lock import lock_file


class Store:
    """Records by their `key`, the first field of each line. One process writes a store; others may read it.

    Without a path, the store is a temporary file.

    Raises:
        UsageError: the file cannot be opened, is not a store, or another process is writing it.
    """

    def __init__(self, path: Path | None, *, write: bool = False) -> None:
        self.path = path
        if path and not write and not path.is_file():
            raise UsageError(f"there is no store {path}", "name cases to create it, such as --strategy SPEC…")
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
        """Lock the file. Raises UsageError if another process has it."""
        try:
            lock_file(self._file.fileno())
        except BlockingIOError as error:
            what = f"another thimble lab is writing {self.path}"
            raise UsageError(what, "wait until it ends, or give another --store") from error
        except OSError as error:
            what = f"{self.path} cannot be locked: {error.strerror}"
            raise UsageError(what, "give a --store on a local disk") from error

    def _cut(self) -> None:
        """Cut off the partial line that a killed writer left."""
        self._file.seek(0)
        self._file.truncate(self._file.read().rfind(b"\n") + 1)

    def add(self, record: dict[str, Any]) -> None:
        """Append the record of a finished job; it replaces an earlier one with the same key.

        Raises:
            UsageError: the disk is full, or the file is no longer writable.
        """
        try:
            self._file.write(json.dumps(record).encode() + b"\n")
            self._file.flush()
        except OSError as error:
            what = f"{self.path} cannot be written: {error.strerror}"
            raise UsageError(what, "free some space, or give --store another file") from error

    def records(self) -> list[dict[str, Any]]:
        """The newest record of each key, sorted by key."""
        self._file.seek(0)
        *lines, torn = self._file.read().split(b"\n")
        found: dict[str, dict[str, Any]] = {}
        if not torn.startswith(b'{"key": '[: len(torn)]):  # a killed writer leaves the start of a record
            lines.append(torn)
        for number, line in enumerate(lines, 1):
            try:
                record = json.loads(line)
                record["rows"], record["spent"]
                found[record["key"]] = record
            except (ValueError, KeyError, TypeError) as error:
                what = f"{self.path}, line {number}: this is not a record of a store"
                raise UsageError(what, "give --store another file; stores of older versions cannot be read") from error
        return [found[key] for key in sorted(found)]

    def close(self) -> None:
        """Close and unlock the file."""
        self._file.close()
