"""The JSON values of a file: one document, one per line, or several in a row; gzipped or not, whatever its name."""

from __future__ import annotations

import gzip
import io
import json
import zipfile
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import IO, Any

from thimble.agent.errors import UsageError

GZIP, ZIP = b"\x1f\x8b", b"PK"
MOST_CHARACTERS = 500_000_000
"""Of a file whose values span lines, since it is held in memory. Lines of JSON are read one by one, in any number."""
LONGEST_LINE = 100_000_000
"""In characters: a file with a longer line is refused."""


def read_values(path: Path, torn: list[str]) -> Generator[Any]:
    """The values of a file, or its text if it is not JSON. Lines, or an end, that are not JSON go to `torn`.

    Raises:
        UsageError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            if file.peek(2)[:2] == ZIP:
                yield from _read_zip(file)
                return
            unpacked = gzip.GzipFile(fileobj=file) if file.peek(2)[:2] == GZIP else file
            with io.TextIOWrapper(unpacked, "utf-8-sig", "replace", newline="\n") as text:
                yield from _read(text, torn)
    except NotImplementedError as error:
        raise UsageError(f"{path} cannot be unpacked: {error}", "convert it: inspect log convert") from error
    except (OSError, EOFError, ValueError, zlib.error, zipfile.BadZipFile) as error:
        what = f"{path} cannot be read: {getattr(error, 'strerror', '') or error}"
        raise UsageError(what, "give the path of a text file, gzipped or not") from error


def _read_zip(file: IO[bytes]) -> Iterator[Any]:
    """The JSON files of a zip, by name: an Inspect log starts with the description of the run."""
    with zipfile.ZipFile(file) as folder:
        for name in sorted(folder.namelist()):
            if name.endswith(".json"):
                yield json.loads(folder.read(name))


def _read(file: IO[str], torn: list[str]) -> Iterator[Any]:
    lines = _lines(file)
    first = next((line for line in lines if line.strip()), "")
    try:
        yield json.loads(first)
    except (ValueError, RecursionError):
        yield from _iter_values(first + file.read(MOST_CHARACTERS), torn)
        return
    for line in lines:
        if line.strip():
            try:
                yield json.loads(line)
            except (ValueError, RecursionError):
                torn.append(line)


def _lines(file: IO[str]) -> Iterator[str]:
    while line := file.readline(LONGEST_LINE):
        if len(line) == LONGEST_LINE:
            raise ValueError(f"a line of it is longer than {LONGEST_LINE:,} characters")
        yield line


def _iter_values(text: str, torn: list[str]) -> Iterator[Any]:
    """The values of a text that may span lines, or the text itself if there are none."""
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        if text[at].isspace():
            at += 1
            continue
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            torn.append(text[at:])
            yield from [] if text[:at].strip() else [text]
            return
        yield value
