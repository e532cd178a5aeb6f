"""A study: the jobs that a store does not have yet, done until all are there or the ceiling is reached."""

from __future__ import annotations

import math
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing

from thimble.lab.job_progress import progress
from thimble.lab.run.ask import JobResult, ask
from thimble.lab.run.jobs import Job
from thimble.lab.run.study_rows import keep, study_row, study_rows
from thimble.lab.store import Store

Do = Callable[[Job], JobResult]
Pool = Callable[[Do, Iterator[Job]], Generator[tuple[Job, JobResult], None, None]]
"""Does jobs, many at once, and yields each when it is done; it takes a job when it has room for one."""


def missing(jobs: Sequence[Job], store: Store) -> list[Job]:
    """The jobs that are not in the store, and those that failed."""
    finished = {row.key for row in study_rows(store) if not row.error}
    return [job for job in jobs if job.key not in finished]


def go_on(jobs: Sequence[Job], store: Store, pool: Pool, ceiling: float = math.inf, do: Do = ask) -> None:
    """Do the missing jobs. Only this process writes the store.

    `ceiling`: what all jobs may cost in computed prompt tokens, those of earlier commands included. When it is reached,
    no job is begun; those under way are finished and kept.
    """
    left, keys = missing(jobs, store), {job.key for job in jobs}
    before = {row.key: row for row in study_rows(store) if row.key in keys}
    spent = sum(row.spent for row in before.values())

    def affordable() -> Iterator[Job]:
        for job in left:
            if spent >= ceiling:
                return
            yield job

    with progress("asked", len(left), len(left)) as advance, closing(pool(do, affordable())) as results:
        for job, result in results:
            keep(store, study_row(job, result, before.get(job.key)))
            spent += result.spent
            advance(1)
