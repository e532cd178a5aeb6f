"""A study on a Ray cluster of this machine: a worker or the driver is killed, and nothing is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from agent.errors import UsageError
from lab.run.ask import Result
from lab.run.cluster import on_ray
from lab.run.jobs import Job
from lab.run.study import go_on
from lab.store import Store
from tests.support.paths import ROOT
from tests.support.studies import answer, job, serial

pytest.importorskip("ray", reason="pip install 'thimble[ray]'")
pytestmark = pytest.mark.filterwarnings("default")  # of Ray itself
JOBS = [job(number) for number in range(40)]
STUDY = """
import sys
from functools import partial
from pathlib import Path
from lab.run.cluster import on_ray
from lab.store import Store
from lab.run.study import go_on
from tests.support.studies import job, slowly
store = Store(Path(sys.argv[1]), write=True)
go_on([job(number) for number in range(40)], store, partial(on_ray, where="ray"), do=slowly)
"""


def killed_once(folder: Path, one: Job) -> Result:
    """A worker is killed from outside in each fifth job, the first time that it is done; one is always killed."""
    number = int(one.question.id[1:])
    mark = folder / str(number)
    if number == 7 or (number % 5 == 0 and not mark.exists()):
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return Result((answer(),), spent=1.0)


def test_the_job_of_a_killed_worker_is_done_again_and_kept_once(tmp_path: Path) -> None:
    store = Store(tmp_path / "s.db", write=True)
    go_on(JOBS, store, partial(on_ray, where="ray", processes=2), do=partial(killed_once, tmp_path))
    rows = store.rows()
    assert {row.question for row in rows if row.error} == {"q7"}
    assert sorted(row.key for row in rows) == sorted(one.key for one in JOBS)
    assert sum(row.spent for row in rows) == len(JOBS) - 1
    store.close()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT])
def test_a_driver_that_ends_leaves_no_cluster_and_goes_on(tmp_path: Path, how: signal.Signals) -> None:
    path = tmp_path / "s.db"
    driver = subprocess.Popen([sys.executable, "-c", STUDY, str(path)], cwd=ROOT, stderr=subprocess.PIPE)
    kept: dict[str, float] = {}
    while len(kept) < 5:
        assert driver.poll() is None
        time.sleep(0.1)
        with suppress(UsageError):  # it is not there yet
            reader = Store(path)
            kept = {row.key: row.finished for row in reader.rows()}
            reader.close()
    driver.send_signal(how)
    driver.communicate(timeout=60)
    store = Store(path, write=True)
    go_on(JOBS, store, serial, do=lambda _: Result((answer(),)))
    rows = store.rows()
    assert kept.items() <= {row.key: row.finished for row in rows}.items()
    assert [row.tries for row in rows] == [1] * len(JOBS)
    store.close()
