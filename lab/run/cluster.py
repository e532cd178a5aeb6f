"""The jobs of a study on a Ray cluster. Its workers only ask; this process keeps what they find."""

from __future__ import annotations

import io
import logging
import os
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager, redirect_stdout
from itertools import islice
from typing import Any

from agent.errors import UsageError
from lab.pool import WAITING
from lab.run.ask import Result
from lab.run.jobs import Job

HERE, SCHEME = "ray", "ray://"
TRIES = 3
"""How often Ray begins a job anew whose worker has ended."""


def on_ray(
    do: Callable[[Job], Result], jobs: Iterator[Job], where: str, processes: int | None = None
) -> Generator[tuple[Job, Result], None, None]:
    """Do the jobs and yield each when it is done, as `lab.pool.pooled` does, `processes` at once (None: one a CPU).

    `where` is `ray://HOST:PORT`, or `ray`: the cluster in RAY_ADDRESS, else one that is started here and ends with this
    process. A job whose workers end again and again, as without memory, is a result with an error. Closing it, an error
    or Ctrl-C cancels what is under way.

    Raises:
        UsageError: Ray is not installed, or no cluster answers.
    """
    with _connected(where) as ray:
        at_once = WAITING * (processes or max(1, int(ray.cluster_resources().get("CPU", 1))))
        task = ray.remote(num_cpus=1, max_retries=TRIES)(lambda job: do(job))
        under_way: dict[Any, Job] = {}
        try:
            while True:
                under_way |= {task.remote(job): job for job in islice(jobs, at_once - len(under_way))}
                if not under_way:
                    break
                for reference in ray.wait([*under_way], num_returns=1)[0]:
                    job = under_way.pop(reference)
                    yield job, _result(ray, reference)
        finally:
            for reference in under_way:
                ray.cancel(reference, force=True)


def _result(ray: Any, reference: Any) -> Result:
    try:
        found: Result = ray.get(reference)
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError, ray.exceptions.NodeDiedError):
        return Result(error=f"its worker ended {TRIES + 1} times: killed, or out of memory")
    return found


@contextmanager
def _connected(where: str) -> Iterator[Any]:
    """Ray, connected to a cluster. One that is started here tells nobody about it, and ends with this process."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
    except ImportError as error:
        raise UsageError("Ray is not installed", "pip install 'thimble[ray]'") from error
    address = where if where.startswith(SCHEME) else os.environ.get("RAY_ADDRESS", "local")
    try:
        dashboard = False if address == "local" else None
        ray.init(address, include_dashboard=dashboard, logging_level=logging.ERROR, log_to_driver=False)
    except (ConnectionError, ValueError) as error:
        raise UsageError(f"no Ray cluster answers at {address}", "check HOST:PORT, and its token") from error
    try:
        with redirect_stdout(sys.stderr or io.StringIO()):  # where Ray tells of workers that ended
            yield ray
    finally:
        ray.shutdown()
