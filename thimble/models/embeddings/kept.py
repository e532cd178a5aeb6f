"""Embeddings kept in an SQLite file by the hash of their text, so that no text is embedded twice.

The file is never trusted and never stops a session: a text whose vector cannot be read is embedded again. Each call
opens and closes the file, so threads and processes may share it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from thimble.agent.protocols import Embedder
from thimble.models.embeddings import scale_to_unit

if TYPE_CHECKING:
    import sqlite3

    import numpy as np
    from numpy.typing import NDArray

VECTORS_TABLE = "CREATE TABLE IF NOT EXISTS vectors(text BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID"
TEXTS_PER_COMMIT = 256
"""Texts that are embedded and stored at a time: the most that is lost if the process is killed."""
LOCK_SECONDS = 0.5
LENGTH_SLACK = 0.01
"""How far from 1 the length of a vector may be after rounding to 16 bits."""

Result = TypeVar("Result")
Progress = Callable[[int, int], object]
"""Called with the number of texts embedded, and the number of texts to embed."""


class KeptEmbedder:
    """An embedder that caches its vectors as 16-bit numbers; new vectors are rounded the same way.

    Args:
        embedder: Makes the vectors that are not in the cache.
        folder: Has a file for each model.
        progress: Called before each batch and at the end.
    """

    def __init__(self, embedder: Embedder, folder: Path, progress: Progress = lambda done, of: None) -> None:
        self._embedder = embedder
        self._folder = folder
        self._progress = progress

    def __deepcopy__(self, memo: object) -> KeptEmbedder:
        return self

    @property
    def name(self) -> str:
        """The name of the model. Raises ModelError."""
        return self._embedder.name

    @property
    def path(self) -> Path:
        """The file of this model. Raises ModelError."""
        return self._folder / f"{sha256(self.name.encode()).hexdigest()[:16]}.sqlite"

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A unit vector for each text, one a row. Raises ModelError."""
        import numpy as np

        if not texts:
            return self._embedder.embed(texts)
        keys = [sha256(text.encode("utf-8", "replace")).digest() for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        found = self._read([*wanted])
        new = [key for key in wanted if key not in found]
        for start in range(0, len(new), TEXTS_PER_COMMIT):
            self._progress(start, len(new))
            batch = new[start : start + TEXTS_PER_COMMIT]
            rows = self._embedder.embed([wanted[key] for key in batch]).astype(np.float16)
            fresh = {key: row.tobytes() for key, row in zip(batch, rows, strict=True)}
            self._write(fresh)
            found |= fresh
        if new:
            self._progress(len(new), len(new))
        if len({len(vector) for vector in found.values()}) > 1:  # another model has taken the name
            self._forget()
            return self.embed(texts)
        return scale_to_unit(np.array([np.frombuffer(found[key], np.float16) for key in keys], np.float32))

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The cached vectors; none at all if one is not a unit vector, since the file is then damaged."""

        def select(file: sqlite3.Connection) -> dict[bytes, bytes]:
            found: dict[bytes, bytes] = {}
            for start in range(0, len(keys), TEXTS_PER_COMMIT):  # one by one takes three times as long
                batch = keys[start : start + TEXTS_PER_COMMIT]
                marks = ", ".join("?" * len(batch))
                found |= file.execute(f"SELECT text, vector FROM vectors WHERE text IN ({marks})", batch)
            return found

        found = self._with_file(select) or {}
        if _are_vectors([*found.values()]):
            return found
        self._forget()
        return {}

    def _write(self, vectors: Mapping[bytes, bytes]) -> None:
        sql = "INSERT OR REPLACE INTO vectors VALUES (?, ?)"
        self._with_file(lambda file: file.executemany(sql, vectors.items()))

    def _with_file(self, task: Callable[[sqlite3.Connection], Result]) -> Result | None:
        """The result of a task with the file; None if the file cannot be used. A damaged file is deleted."""
        import sqlite3

        path = self.path
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.close(os.open(path, os.O_CREAT | os.O_RDWR, 0o600))
            with closing(sqlite3.connect(path, timeout=LOCK_SECONDS)) as file, file:
                file.execute("PRAGMA synchronous = OFF")  # a file damaged by a power cut is made again
                file.execute(VECTORS_TABLE)
                return task(file)
        except (sqlite3.OperationalError, OSError):  # in use, read-only, or the disk is full
            return None
        except sqlite3.DatabaseError:
            self._forget()
            return None

    def _forget(self) -> None:
        with suppress(OSError):
            self.path.unlink(missing_ok=True)


def _are_vectors(kept: Sequence[bytes]) -> bool:
    """Whether these are the bytes of vectors of one size, each of length 1 or all zeros."""
    import numpy as np

    try:
        rows = np.array([np.frombuffer(each, np.float16) for each in kept], np.float32)
    except (TypeError, ValueError):
        return False
    lengths = np.linalg.norm(rows, axis=-1)
    return rows.shape[1:] != (0,) and bool(np.all((lengths == 0) | (np.abs(lengths - 1) < LENGTH_SLACK)))
