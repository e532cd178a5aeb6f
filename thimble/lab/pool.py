"""A pool of processes that ignore Ctrl-C, which the parent handles, and exit with the parent, however it ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from multiprocessing import active_children, parent_process
from threading import Thread
from typing import Any, TypeVar

from thimble.agent.errors import UsageError
from thimble.session.sigint import defer_sigint

Job = TypeVar("Job")
Done = TypeVar("Done")
WAITING = 2
"""Jobs submitted per process: one runs, one waits."""


def run_jobs(do: Callable[[Job], Done], jobs: Iterator[Job], processes: int) -> Generator[tuple[Job, Done], None, None]:
    """Run the jobs and yield each with its result when it is done. Jobs are taken from the iterator only as needed.

    Each process gets `do` once, with everything that it holds; a job is sent each time, so it should be small. Closing
    the generator, an error or Ctrl-C ends the processes at once.

    Raises:
        UsageError: a worker process was killed.
    """
    pool = ProcessPoolExecutor(processes, initializer=_start_worker, initargs=(do,))
    under_way: dict[Future[Done], Job] = {}
    try:
        while True:
            for job in islice(jobs, WAITING * processes - len(under_way)):
                with defer_sigint():  # a new process inherits the handler until `_start_worker` runs
                    under_way[pool.submit(_run_job, job)] = job
            if not under_way:
                break
            for future in wait(under_way, return_when=FIRST_COMPLETED).done:
                yield under_way.pop(future), future.result()
    except BrokenProcessPool as error:
        raise UsageError("a worker process was killed (probably out of memory)", "run fewer --jobs") from error
    finally:
        if under_way:
            for process in active_children():
                process.terminate()
        pool.shutdown(cancel_futures=True)


_do: Callable[[Any], Any]
"""What this process does with each job."""


def _start_worker(do: Callable[[Any], Any]) -> None:
    global _do
    _do = do
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _run_job(job: Any) -> Any:
    return _do(job)


def _end_with_parent() -> None:
    parent = parent_process()
    if parent:
        parent.join()
        os._exit(1)
