"""The jobs of an experiment on a Ray cluster: one that is there, or one of this machine. Its workers keep nothing."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, redirect_stdout
from itertools import islice
from typing import Any

import thimble
from thimble.agent.errors import UsageError, in_line
from thimble.lab.pool import WAITING, Done, Job

LOCAL_CLUSTER = "local-cluster"


def clustered(
    do: Callable[[Job], Done], jobs: Iterator[Job], processes: int | None, address: str
) -> Generator[tuple[Job, Done], None, None]:
    """Do the jobs and yield each when it is done, as `thimble.lab.pool.pooled` does. A job takes a CPU of Ray.

    `processes` jobs are handed over at once; None: two for each CPU, of which one waits. `address` is ray://HOST:PORT,
    or LOCAL_CLUSTER. A job whose worker or node has ended is done again, three times. Closing it, an error or Ctrl-C
    ends what is under way, as does the end of this process.

    Raises:
        UsageError: Ray is not installed, no such cluster answers, it is lost, or a job ends each worker that does it.
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
        stack.enter_context(redirect_stdout(sys.stderr))  # where Ray tells of workers that have ended
        stack.callback(ray.shutdown)
        try:
            ray.init(runtime_env={"py_modules": [*thimble.__path__]}, **options)  # the workers get the code from here
        except (OSError, ValueError, RuntimeError) as error:
            what = f"no cluster can be used at {address}: {in_line(str(error))}"
            raise UsageError(what, "docs/how-to/run-on-a-cluster.md says how to start one") from error
        most = processes or WAITING * int(ray.cluster_resources().get("CPU", 1))
        task = ray.remote(scheduling_strategy="SPREAD")(lambda job: do(job))
        under_way: dict[Any, Job] = {}
        try:
            while under_way := under_way | {task.remote(job): job for job in islice(jobs, most - len(under_way))}:
                for done in ray.wait([*under_way])[0]:
                    yield under_way.pop(done), ray.get(done)
        except (ConnectionError, ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError) as error:
            what = f"a job has ended four workers, or the cluster is lost: {in_line(str(error))}"
            raise UsageError(what, "start it with fewer CPUs or more memory, and give the same command") from error
