"""How far a command is and how long it takes, on standard error: a bar in a terminal, else lines now and then."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from session.figures import duration

PAUSE = 10.0
"""The fewest seconds between two lines."""
Advance = Callable[[int], None]


@contextmanager
def progress(did: str, jobs: int, total: int, clock: Callable[[], float] = monotonic) -> Iterator[Advance]:
    """Yield a function to call with the size of each finished job. `total` is the size of all; `did`: "asked"."""
    if sys.stderr is None:
        yield lambda size: None
    elif sys.stderr.isatty():
        with _bar(did, total) as advance:
            yield advance
    else:
        yield _lines(did, jobs, total, clock)


@contextmanager
def _bar(did: str, total: int) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

    columns = (TextColumn(did), BarColumn(), TaskProgressColumn(), TimeRemainingColumn(), TextColumn("left"))
    with Progress(*columns, console=Console(stderr=True), auto_refresh=False, transient=True) as bar:
        task = bar.add_task("", total=total)
        yield lambda size: bar.update(task, advance=size, refresh=True)


def _lines(did: str, jobs: int, total: int, clock: Callable[[], float]) -> Advance:
    done = size = 0
    began = last = clock()

    def advance(more: int) -> None:
        nonlocal done, size, last
        done, size = done + 1, size + more
        if clock() - last >= PAUSE:
            last = clock()
            left = f", about {duration((last - began) / size * (total - size))} left" if size else ""
            print(f"{did} {done:,} of {jobs:,}{left}", file=sys.stderr, flush=True)

    return advance
