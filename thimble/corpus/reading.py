"""Read files that may not be text: each failure is an OSError with the reason in words as `strerror`."""

from __future__ import annotations

import errno
import os
import stat
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path

# Do not follow a link made after the check, do not block on a FIFO, do not take over a terminal.
OPEN_FLAGS = sum(getattr(os, name, 0) for name in ("O_RDONLY", "O_NOFOLLOW", "O_NONBLOCK", "O_NOCTTY", "O_BINARY"))


def read_text(path: Path, limit_bytes: int) -> str:
    """The text of a regular file in UTF-8, or UTF-16 with a byte order mark; without the mark, with Unix line endings.

    Raises OSError for a link, a folder, a FIFO, a device, more than `limit_bytes`, binary data or another encoding.
    """
    descriptor = os.open(path, OPEN_FLAGS)
    try:
        return text_of(descriptor, limit_bytes)
    finally:
        os.close(descriptor)


def text_of(descriptor: int, limit_bytes: int) -> str:
    """The text of an open file; otherwise as `read_text`."""
    data = _read_bytes(descriptor, limit_bytes)
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


def _read_bytes(descriptor: int, limit_bytes: int) -> bytes:
    mode = os.fstat(descriptor).st_mode
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, "it is a folder")
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is not a regular file")
    with os.fdopen(descriptor, "rb", closefd=False) as file:
        data = file.read(limit_bytes + 1)
    if len(data) > limit_bytes:
        raise OSError(errno.EFBIG, f"it is larger than {limit_bytes / 1_000_000:.3g} MB")
    return data
