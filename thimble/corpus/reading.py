"""Read files of any kind up to a bound: each failure is an OSError with the reason in words as `strerror`."""

from __future__ import annotations

import errno
import os
import stat
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from io import BufferedIOBase
from pathlib import Path
from typing import BinaryIO

NEVER_WAIT = sum(getattr(os, name, 0) for name in ("O_NONBLOCK", "O_NOCTTY", "O_BINARY"))
"""Do not wait until the other end of a FIFO is opened, do not take over a terminal."""


def open_file(path: Path, how: int = os.O_RDONLY) -> int:
    """A descriptor of a regular file. Raises OSError for a folder, a FIFO, a device."""
    descriptor = os.open(path, how | NEVER_WAIT)
    try:
        _regular(descriptor)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _regular(descriptor: int) -> os.stat_result:
    """The status of an open file. Raises OSError if it is not a regular one."""
    status = os.fstat(descriptor)
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    return status


def file_bytes(path: Path, most_bytes: int) -> bytes:
    """All of a regular file. Raises OSError, also if it is larger."""
    descriptor = open_file(path)
    try:
        return all_of(descriptor, most_bytes)
    finally:
        os.close(descriptor)


def all_of(descriptor: int, most_bytes: int) -> bytes:
    """All of an open regular file, from its start. Raises OSError if it is larger, before reading."""
    if _regular(descriptor).st_size > most_bytes:
        raise _too_large(most_bytes)
    os.lseek(descriptor, 0, os.SEEK_SET)
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        return read_bounded(file, most_bytes)


def read_bounded(stream: BinaryIO | BufferedIOBase, most_bytes: int) -> bytes:
    """The rest of a stream. Raises OSError if it is larger."""
    data = stream.read(most_bytes + 1)
    if len(data) > most_bytes:
        raise _too_large(most_bytes)
    return data


def _too_large(most_bytes: int) -> OSError:
    return OSError(errno.EFBIG, f"it is larger than {most_bytes / 1_000_000:.3g} MB")


def read_text(path: Path, most_bytes: int) -> str:
    """The text of a regular file in UTF-8, or UTF-16 with a byte order mark; without the mark, with Unix line endings.

    Raises OSError for a folder, a FIFO, a device, more than `most_bytes`, binary data or another encoding.
    """
    return _decoded(file_bytes(path, most_bytes))


def text_of(descriptor: int, most_bytes: int) -> str:
    """The text of an open file; otherwise as `read_text`."""
    return _decoded(all_of(descriptor, most_bytes))


def _decoded(data: bytes) -> str:
    encoding = "UTF-16" if data.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "UTF-8"
    if b"\0" in data and encoding == "UTF-8":
        raise OSError(errno.EILSEQ, "it is binary, not text")
    try:
        text = data.decode("utf-8-sig" if encoding == "UTF-8" else encoding)
    except UnicodeDecodeError as error:
        raise OSError(errno.EILSEQ, f"it is not {encoding} text (byte {error.start:,})") from error
    if "\0" in text:
        raise OSError(errno.EILSEQ, "it is binary, not text")
    return text.replace("\r\n", "\n").replace("\r", "\n")
