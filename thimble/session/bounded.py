"""Read foreign bytes up to a bound: each failure is an OSError with the reason in words as `strerror`."""

from __future__ import annotations

import errno
import os
import stat
from io import BufferedIOBase
from pathlib import Path
from typing import BinaryIO

MOST_BYTES, MOST_LINES, MOST_LINE_BYTES = 200_000_000, 1_000_000, 32_000_000
"""A journal or a recording with more is not read; a longer line is damage."""
MOST_BRANCHES = 10_000
"""A journal with more is not read: finding the start of a branch takes longer with each."""
MOST_RUNS_BYTES = 500_000_000
"""The most bytes of a file of trajectories, unpacked."""
MOST_INPUT_BYTES = 64_000_000
"""The most bytes of input that is read whole: a conversation to prepare, one prompt, a table of rows (unpacked)."""
NEVER_WAIT = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_BINARY"))
"""Do not wait until the other end of a FIFO is opened, do not take over a terminal."""


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
    """All of a regular file. Raises OSError, also if it is larger."""
    descriptor = open_file(path)
    try:
        return all_of(descriptor, most_bytes)
    finally:
        os.close(descriptor)


def all_of(descriptor: int, most_bytes: int) -> bytes:
    """All of an open file, from its start. Raises OSError if it is larger, before reading."""
    if os.fstat(descriptor).st_size > most_bytes:
        raise _too_large(most_bytes)
    os.lseek(descriptor, 0, os.SEEK_SET)
    with os.fdopen(os.dup(descriptor), "rb") as file:
        return read_bounded(file, most_bytes)


def read_bounded(stream: BinaryIO | BufferedIOBase, most_bytes: int) -> bytes:
    """The rest of a stream. Raises OSError if it is larger."""
    data = stream.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise _too_large(most_bytes)
    return data


def _too_large(most_bytes: int) -> OSError:
    return OSError(errno.EFBIG, f"it is larger than {most_bytes / 1_000_000:,.0f} MB")
