"""How far a study is and how long it still takes, on standard error: a bar in a terminal, else a line now and then."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from agent.figures import duration

PAUSE = 10.0
"""The fewest seconds between two lines."""


@contextmanager
def progress(jobs: int, clock: Callable[[], float] = monotonic) -> Iterator[Callable[[], None]]:
    """Yield a function to call for each finished job; `jobs` is how many are to be done."""
    if sys.stderr is None or not jobs:
        yield lambda: None
    elif sys.stderr.isatty():
        with _bar(jobs) as advance:
            yield advance
    else:
        yield _lines(jobs, clock)


@contextmanager
def _bar(jobs: int) -> Iterator[Callable[[], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("asking"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn(), TextColumn("left"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=jobs)
        yield lambda: bar.advance(task)


def _lines(jobs: int, clock: Callable[[], float]) -> Callable[[], None]:
    done, began = 0, clock()
    last = began

    def advance() -> None:
        nonlocal done, last
        done += 1
        if clock() - last >= PAUSE:
            last = clock()
            left = duration((last - began) / done * (jobs - done))
            print(f"asked {done:,} of {jobs:,}, about {left} left", file=sys.stderr, flush=True)

    return advance
