"""Write files whole or not at all, whatever ends the writing: a full disk, an error, Ctrl-C."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path


def write_whole(path: Path, pieces: Iterable[str]) -> int:
    """Write a file, and return its size in bytes. A reader finds the old file or the new one. Raises OSError."""
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with draft.open("x", encoding="utf-8", errors="replace", newline="\n") as file:
            file.writelines(pieces)
        size = draft.stat().st_size
        draft.replace(path)
    finally:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
    return size
