"""A lock on an open file that keeps other processes from writing it, until it is closed or the process ends."""

from __future__ import annotations

import errno
import os
import sys

LOCK_HELD = (errno.EACCES, errno.EAGAIN, errno.EDEADLK)
"""The errors if another process holds the lock; any other error means that locks are not supported here."""
LOCK_OFFSET = 1 << 40
"""The byte to lock on Windows: far after the data, since others cannot read locked bytes."""


def lock_file(file: int) -> None:
    """Lock the file of a descriptor, at once.

    Raises:
        BlockingIOError: another process holds it.
        OSError: the file system has no locks.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(file, LOCK_OFFSET, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in LOCK_HELD:
            raise BlockingIOError(error.errno, error.strerror) from error
        raise
