"""Ten thousand jobs of a study on a Ray cluster of this machine: what Ray adds to a job, and what kills lose.

    python benchmarks/cluster.py                  # needs `pip install 'thimble[ray]'`; minutes
    python benchmarks/cluster.py --jobs 500 --kills 5

A job is a question in a session of its own, whose scripted model answers at once. First all jobs are done on two
workers, by processes and by Ray; overhead is the time of a worker a job, less the time that the job itself took. Then
Ray does them again while workers are killed (SIGKILL) at random moments of it, and the driver twice; another driver
goes on.
Exits 1 if a row is missing, twice, failed, or done again although it was kept.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from agent.errors import UsageError
from lab.pool import pooled
from lab.run.ask import Result, hold
from lab.run.cluster import on_ray
from lab.run.jobs import Job
from lab.run.study import Pool, go_on
from lab.store import Store
from models.scripted import Scripted
from session.session import Session
from tests.support.studies import job

os.environ["PYTHONPATH"] = sys.path[0]  # for the workers
JOBS, KILLS, WORKERS = 10_000, 40, 2
DRIVER_KILLS = 2


def scripted(one: Job) -> Result:
    """The job with a model that answers at once."""
    started, session = perf_counter(), Session(one.settings)
    session.agent.use(Scripted(["About 84 % [observation-masking]."]))
    return replace(hold(session, one), seconds=perf_counter() - started)


def study(path: Path, jobs: int, pool: Pool) -> None:
    store = Store(path, write=True)
    go_on([job(number) for number in range(jobs)], store, pool, do=scripted)
    store.close()


def overhead(name: str, pool: Pool, jobs: int, folder: Path) -> float:
    """Print what a job costs, and return the seconds of all jobs."""
    path = folder / f"{name}.db"
    study(folder / f"{name}-warm.db", 4, pool)
    started = perf_counter()
    study(path, jobs, pool)
    seconds = perf_counter() - started
    took = sum(row.seconds for row in Store(path).rows())
    lost, inside = (1000 * each / jobs for each in (WORKERS * seconds - took, took))
    print(f"{name}: {jobs:,} jobs in {seconds:.0f} s, {inside:.1f} ms each and {lost:.1f} ms of overhead", flush=True)
    return seconds


# ---- kills ----


def workers(driver: int) -> Iterator[int]:
    """The processes of Ray's workers below a driver."""
    told = subprocess.run(["ps", "-eo", "pid=,ppid=,args="], capture_output=True, text=True, check=True).stdout
    rows = [line.split(None, 2) for line in told.splitlines()]
    parents = {int(pid): int(parent) for pid, parent, *_ in rows}
    for pid, _, *args in rows:
        above = int(pid)
        while above in parents and above != driver:
            above = parents[above]
        if above == driver and args and args[0].startswith("ray::") and "Agent" not in args[0]:  # agents end the node
            yield int(pid)


def kept(path: Path) -> dict[str, float]:
    try:
        store = Store(path)
    except UsageError:  # it has no table yet
        return {}
    found = {row.key: row.finished for row in store.rows()}
    store.close()
    return found


def killed(jobs: int, kills: int, folder: Path, seed: int, longest: float) -> bool:
    """Whether all rows are there in the end. `longest`: the most seconds between two kills."""
    draw, path = random.Random(seed), folder / "killed.db"
    done, drivers, before = 0, 0, dict[str, float]()
    fresh = True
    while True:
        command = [sys.executable, __file__, "--drive", str(path), "--jobs", str(jobs)]
        driver = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        last = kills * (drivers + 1) // (DRIVER_KILLS + 1)
        while driver.poll() is None and not (path.exists() and kept(path).keys() - before.keys()):
            time.sleep(1)  # before its first job, Ray 2.60 waits for ever for a worker that was killed
        while driver.poll() is None and done < last:
            time.sleep(draw.uniform(0, longest))
            found = [*workers(driver.pid)]
            if found:
                os.kill(draw.choice(found), signal.SIGKILL)
                done += 1
        if drivers < DRIVER_KILLS and driver.poll() is None:
            driver.kill()
            drivers += 1
        driver.wait()
        now = kept(path)
        fresh &= before.items() <= now.items()
        print(f"after {done} kills of workers and {drivers} of the driver: {len(now):,} rows", flush=True)
        before = now
        if driver.returncode == 0:
            break
    store = Store(path)
    rows = store.rows()
    failed = sum(bool(row.error) for row in rows)
    again = sum(row.tries > 1 for row in rows)
    print(f"{len(rows):,} rows of {jobs:,}, {failed} failed, {again} done again, kept rows unchanged: {fresh}")
    return len(rows) == jobs and not failed and not again and fresh


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--jobs", type=int, default=JOBS)
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--drive", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    on_this = partial(on_ray, where="ray", processes=WORKERS)
    if options.drive:
        study(options.drive, options.jobs, on_this)
        return 0
    with tempfile.TemporaryDirectory() as name:
        overhead("processes", partial(pooled, processes=WORKERS), options.jobs, Path(name))
        seconds = overhead("Ray", on_this, options.jobs, Path(name))
        longest = 1.5 * seconds / max(1, options.kills)
        return int(not killed(options.jobs, options.kills, Path(name), options.seed, longest))


if __name__ == "__main__":
    sys.exit(main())
