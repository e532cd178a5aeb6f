"""Progress of a long command: an occasional line on standard error with the time that is left."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from thimble.session.figures import format_duration

LINE_PAUSE_SECONDS = 10.0
"""The minimum seconds between two lines."""
Advance = Callable[[int], None]


@contextmanager
def progress(did: str, jobs: int, total: int, clock: Callable[[], float] = monotonic) -> Iterator[Advance]:
    """Yield a function to call with the size of each finished job.

    `did` is a participle, such as "asked"; `total` is the size of all jobs.
    """
    done = size = 0
    began = last = clock()

    def advance(more: int) -> None:
        nonlocal done, size, last
        done, size = done + 1, size + more
        if clock() - last >= LINE_PAUSE_SECONDS and sys.stderr:
            last = clock()
            left = f", about {format_duration((last - began) / size * (total - size))} left" if size else ""
            print(f"{did} {done:,} of {jobs:,}{left}", file=sys.stderr, flush=True)

    yield advance
