"""Bytes that others wrote, up to a bound: each failure is an OSError with the reason in words as `strerror`."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedIOBase
from pathlib import Path
from typing import BinaryIO

MOST_BYTES, MOST_LINES, MOST_LINE_BYTES = 200_000_000, 1_000_000, 32_000_000
"""A journal or a cassette with more is not read; a line of it that is longer is damage."""
MOST_BRANCHES = 10_000
"""A journal with more is not read: to find where one begins takes longer with each."""
MOST_RUNS_BYTES = 500_000_000
"""A file of trajectories has no more, unpacked."""
MOST_INPUT_BYTES = 64_000_000
"""Input that is read as a whole: a conversation to prepare, one prompt, a table of rows (unpacked)."""
NEVER_WAIT = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_BINARY"))
"""Do not wait at a FIFO until somebody opens its other end, do not take over a terminal."""


def open_file(path: Path, how: int = os.O_RDONLY) -> int:
    """A descriptor of a regular file. Raises OSError for a folder, a FIFO, a device."""
    descriptor = os.open(path, how | NEVER_WAIT)
    try:
        mode = os.fstat(descriptor).st_mode
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, "it is a folder")
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "it is not a regular file")
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def file_bytes(path: Path, most_bytes: int) -> bytes:
    """All of a regular file. Raises OSError, for one that is larger too."""
    descriptor = open_file(path)
    try:
        return all_of(descriptor, most_bytes)
    finally:
        os.close(descriptor)


def all_of(descriptor: int, most_bytes: int) -> bytes:
    """All of an open file, from its beginning on. Raises OSError where that is more, before it is read."""
    if os.fstat(descriptor).st_size > most_bytes:
        raise _too_large(most_bytes)
    os.lseek(descriptor, 0, os.SEEK_SET)
    with os.fdopen(os.dup(descriptor), "rb") as file:
        return bounded(file, most_bytes)


def bounded(stream: BinaryIO | BufferedIOBase, most_bytes: int) -> bytes:
    """The rest of a stream. Raises OSError where that is more."""
    data = stream.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise _too_large(most_bytes)
    return data


def _too_large(most_bytes: int) -> OSError:
    return OSError(errno.EFBIG, f"it is larger than {most_bytes / 1_000_000:,.0f} MB")
