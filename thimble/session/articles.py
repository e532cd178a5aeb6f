"""The articles of a session, read with a cache, and the progress of reading and embedding them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING

from thimble.tools.wording import count_noun

if TYPE_CHECKING:
    from thimble.corpus.library import Library

MAX_SILENT_FILES = 200
"""Up to this many files are read without a report of progress."""


def cache_of(folder: Path) -> Path:
    """The file that caches the articles of a folder."""
    from hashlib import sha256

    from platformdirs import user_cache_dir

    name = sha256(os.fsencode(os.path.realpath(folder))).hexdigest()[:16]
    return Path(user_cache_dir("thimble"), "articles", f"{name}.sqlite")


class Reading:
    """Reads the articles and reports its progress; another thread may look.

    Attributes:
        words: "reading 3,412 of 20,000 articles", or "embedding …", while it takes long, else "".
    """

    def __init__(self) -> None:
        self.words = ""
        self._tell: Callable[[str], object] = lambda words: None
        self._seconds = 5.0
        self._told = 0.0

    def watch(self, tell: Callable[[str], object], seconds: float = 5.0) -> None:
        """Call `tell` with the words every `seconds` while it takes long, in the thread that reads."""
        self._tell, self._seconds = tell, seconds

    def read(self, folder: Path) -> Library:
        """The articles of this folder. Raises UsageError if the folder has no articles."""
        from thimble.corpus.library import load_library

        self._told = monotonic() - self._seconds + min(1.0, self._seconds)
        try:
            return load_library(folder, cache_of(folder), self._step)
        finally:
            self.words = ""

    def embedded(self, done: int, of: int) -> None:
        """Report that `done` of `of` passages are embedded."""
        self._say(f"embedding {done:,} of {count_noun(of, 'passage')}" if MAX_SILENT_FILES < of != done else "")

    def _step(self, done: int, of: int) -> None:
        if of > MAX_SILENT_FILES and done % 10 == 0:
            self._say(f"reading {done:,} of {count_noun(of, 'article')}")

    def _say(self, words: str) -> None:
        self.words = words
        if words and monotonic() - self._told > self._seconds:
            self._told = monotonic()
            self._tell(words)
