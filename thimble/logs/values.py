"""The JSON values of a file: one document, one a line, or several in a row; gzipped or not. Names say nothing."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO, Any

from thimble.agent.errors import UsageError

GZIP, ZIP = b"\x1f\x8b", b"PK\x03\x04"
HEADERS = ("header.json", "_journal/start.json")
"""Of the zip of an Inspect log."""
MOST_CHARACTERS = 500_000_000
"""Of a value over several lines: it is held as a whole. Lines are read one by one, as many as there are."""
MOST_SHOWN = 400
BLANKS = re.compile(r"\s*")


class Values:
    """The values of a file, once, from its beginning on. One that does not begin with JSON has one: its first letters.

    `torn`: how many lines were not JSON: the last one of a live session may be cut.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.torn = 0

    def __iter__(self) -> Generator[Any]:
        """Raises UsageError: the file cannot be read."""
        try:
            with self.path.open("rb") as file:
                if file.peek(4)[:4] == ZIP:
                    yield from self._zipped(file)
                    return
                packed = file.peek(2)[:2] == GZIP
                unpacked = gzip.GzipFile(fileobj=file) if packed else file
                with io.TextIOWrapper(unpacked, "utf-8-sig", "replace", newline="\n") as text:
                    yield from self._read(text)
        except NotImplementedError as error:
            raise UsageError(f"{self.path} cannot be unpacked: {error}", "convert it: inspect log convert") from error
        except (OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile) as error:
            what = f"{self.path} cannot be read: {getattr(error, 'strerror', '') or error}"
            raise UsageError(what, "give the path of a text file, gzipped or not") from error

    def _zipped(self, file: IO[bytes]) -> Iterator[Any]:
        """The JSON files of a zip, one at a time, a header first."""
        with zipfile.ZipFile(file) as folder:
            names = [name for name in folder.namelist() if name.endswith(".json")]
            for name in sorted(names, key=lambda name: (name not in HEADERS, name)):
                yield json.loads(folder.read(name))

    def _read(self, file: IO[str]) -> Iterator[Any]:
        first = next((line for line in file if line.strip()), "")
        try:
            value = json.loads(first) if first else None
        except (ValueError, RecursionError):
            yield from self._in_a_row(first + file.read(MOST_CHARACTERS))
            return
        yield from [value] if first else []
        for line in file:
            if line.strip():
                yield from self._parsed(line)

    def _parsed(self, line: str) -> Iterator[Any]:
        try:
            yield json.loads(line)
        except (ValueError, RecursionError):
            self.torn += 1

    def _in_a_row(self, text: str) -> Iterator[Any]:
        """Values that go over several lines."""
        decoder, at = json.JSONDecoder(), BLANKS.match(text).end()  # type: ignore[union-attr]
        while at < len(text):
            try:
                value, end = decoder.raw_decode(text, at)
            except (ValueError, RecursionError):
                self.torn += 1
                if BLANKS.fullmatch(text, 0, at):
                    yield text[:MOST_SHOWN]
                return
            yield value
            at = BLANKS.match(text, end).end()  # type: ignore[union-attr]
