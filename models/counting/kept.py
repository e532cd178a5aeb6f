"""What is known of a model's counting, kept on this disk as JSON under the digest of the model.

Files are never trusted and never stop a session: what cannot be read or written is asked for anew.
"""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from corpus.writing import write_whole


def folder() -> Path:
    """Where vocabularies and templates are kept."""
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("thimble"), "counting")


def kept(kind: str, digest: str) -> Any:
    """What was kept of a model; None if there is nothing that can be read."""
    with suppress(OSError, ValueError, RecursionError):
        return json.loads(_file(kind, digest).read_bytes()) if digest else None
    return None


def keep(kind: str, digest: str, value: Any) -> None:
    """Keep this; a reader meanwhile finds the old or the new, whole."""
    if not digest:
        return
    file = _file(kind, digest)
    with suppress(OSError):
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(file, [json.dumps(value)])


def _file(kind: str, digest: str) -> Path:
    from hashlib import sha256

    return folder() / f"{kind}-{sha256(digest.encode('utf-8', 'replace')).hexdigest()[:16]}.json"
