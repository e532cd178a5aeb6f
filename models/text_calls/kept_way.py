"""The way in which a model calls tools, found by a trial, and kept on this disk under the digest of the model.

A file is never trusted and never stops a session: what cannot be read or written is tried anew.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from thimble.corpus.writing import write_whole


def folder() -> Path:
    """Where the ways are kept."""
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("thimble"), "calls")


def kept_way(digest: str) -> str:
    """The way that was kept of a model; "" if there is none that can be read."""
    with suppress(OSError, ValueError):
        return _file(digest).read_text("utf-8")
    return ""


def keep_way(digest: str, way: str) -> None:
    """Keep this; a reader meanwhile finds the old or the new, whole."""
    file = _file(digest)
    with suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(file, [way])


def _file(digest: str) -> Path:
    from hashlib import sha256

    return folder() / sha256(digest.encode("utf-8", "replace")).hexdigest()[:16]
