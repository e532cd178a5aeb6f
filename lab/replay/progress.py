"""How far a replay is, by the size of its runs, on standard error: a bar in a terminal, else a line now and then."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

PAUSE = 10.0
"""The fewest seconds between two lines."""


@contextmanager
def progress(jobs: int, total: int, clock: Callable[[], float] = monotonic) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with the size of each job that is done; `total` is the size of all `jobs`."""
    if sys.stderr is None:
        yield lambda size: None
    elif sys.stderr.isatty():
        with _bar(total) as advance:
            yield advance
    else:
        yield _lines(jobs, total, clock)


@contextmanager
def _bar(total: int) -> Iterator[Callable[[int], None]]:
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), auto_refresh=False, transient=True) as bar:
        task = bar.add_task("replaying", total=total)

        def advance(size: int) -> None:
            bar.update(task, advance=size, refresh=True)

        yield advance


def _lines(jobs: int, total: int, clock: Callable[[], float]) -> Callable[[int], None]:
    done = size = 0
    last = clock()

    def advance(more: int) -> None:
        nonlocal done, size, last
        done, size = done + 1, size + more
        if clock() - last >= PAUSE:
            last = clock()
            print(f"replayed {done:,} of {jobs:,}, {size / max(1, total):.0%} of the work", file=sys.stderr, flush=True)

    return advance
