"""Run the jobs of an experiment on a Ray cluster, remote or on this machine. The workers write no files."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, redirect_stdout
from functools import cache
from itertools import islice
from typing import Any

import thimble
from thimble.agent.errors import UsageError, in_line
from thimble.lab.pool import WAITING, Done, Job

LOCAL_CLUSTER = "local-cluster"


def run_cluster_jobs(
    do: Callable[[Job], Done], jobs: Iterator[Job], processes: int | None, address: str
) -> Generator[tuple[Job, Done], None, None]:
    """Run the jobs and yield each with its result, as `thimble.lab.pool.run_jobs` does. A job takes one Ray CPU.

    At most `processes` jobs are submitted at a time; None: two for each CPU, one of which waits. `address` is
    ray://HOST:PORT or LOCAL_CLUSTER. If its worker or node dies, a job is retried three times. Closing the generator,
    an error, Ctrl-C or the end of this process cancels the running jobs.

    Raises:
        UsageError: Ray is not installed, no cluster answers, the connection is lost, or a job keeps killing its worker.
    """
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        import ray
    except ImportError as error:
        raise UsageError("--on needs Ray, which is not installed", "pip install 'thimble-agent[cluster]'") from error
    options: dict[str, Any] = {"address": address, "log_to_driver": False, "logging_level": "error"}
    if address == LOCAL_CLUSTER:
        options |= {"address": "local", "num_cpus": processes}
    with ExitStack() as stack:
        stack.enter_context(redirect_stdout(sys.stderr))  # Ray prints to stdout when a worker dies
        stack.callback(ray.shutdown)
        try:
            ray.init(runtime_env={"py_modules": [*thimble.__path__]}, **options)  # uploads this package to the workers
        except (OSError, ValueError, RuntimeError) as error:
            what = f"cannot connect to a Ray cluster at {address}: {in_line(str(error))}"
            raise UsageError(what, "docs/how-to/run-on-a-cluster.md says how to start one") from error
        most = processes or WAITING * int(ray.cluster_resources().get("CPU", 1))
        there = [ray.put(do)]  # once; in a list, since Ray would read a bare one anew for each job
        task = ray.remote(scheduling_strategy="SPREAD")(lambda there, job: _fetched(there[0])(job))
        under_way: dict[Any, Job] = {}
        try:
            while under_way := under_way | {
                task.remote(there, job): job for job in islice(jobs, most - len(under_way))
            }:
                for done in ray.wait([*under_way])[0]:
                    yield under_way.pop(done), ray.get(done)
        except (ConnectionError, ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError) as error:
            what = f"a job killed four workers, or the cluster is gone: {in_line(str(error))}"
            raise UsageError(what, "start it with fewer CPUs or more memory, and run the command again") from error


@cache
def _fetched(stored: Any) -> Any:
    """In a worker: a value of the cluster's store, read once."""
    import ray

    return ray.get(stored)
