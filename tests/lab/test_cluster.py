"""A Ray cluster of this machine: a job whose worker is killed is done again, once; what is under way ends with us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from thimble.agent.errors import UsageError
from thimble.lab.cluster import LOCAL_CLUSTER, run_cluster_jobs

pytestmark = pytest.mark.filterwarnings("default")  # those of Ray itself
RAY_EXTRA = "pip install 'thimble-agent[cluster]'"


def killed_once(folder: Path, number: int) -> int:
    """Every fifth job is killed from outside the first time that it is done; one is always killed."""
    mark = folder / str(number)
    if number < 0 or (number % 5 == 0 and not mark.exists()):
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


def endless(folder: Path, number: int) -> None:
    (folder / f"{os.getpid()}.worker").touch()
    time.sleep(600)


def living(process: int) -> bool:
    path = Path(f"/proc/{process}/stat")
    return path.exists() and path.read_text().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.nightly
def test_the_job_of_a_killed_worker_is_done_again_and_counted_once_unless_it_always_kills(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason=RAY_EXTRA)
    do = partial(killed_once, tmp_path)
    done = run_cluster_jobs(do, iter(range(20)), 2, LOCAL_CLUSTER)
    assert sorted(done) == [(number, number * number) for number in range(20)]
    with pytest.raises(UsageError, match="killed four workers"):
        list(run_cluster_jobs(do, iter([-1]), 2, LOCAL_CLUSTER))


ENDLESS = f"""
import sys
from functools import partial
from pathlib import Path
from tests.lab.test_cluster import endless
from thimble.lab.cluster import run_cluster_jobs
from thimble.lab.exit_code import exit_code
do = partial(endless, Path(sys.argv[1]))
sys.exit(exit_code("it", lambda: print(*run_cluster_jobs(do, iter(range(9)), 2, "{LOCAL_CLUSTER}"))))
"""


@pytest.mark.nightly
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_what_is_under_way_ends_with_the_command(tmp_path: Path, how: signal.Signals) -> None:
    pytest.importorskip("ray", reason=RAY_EXTRA)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    running = subprocess.Popen([sys.executable, "-c", ENDLESS, str(tmp_path)], cwd=ROOT, text=True, env=environment,
                               start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
    while len(begun := [int(path.stem) for path in tmp_path.glob("*.worker")]) < 2:
        assert running.poll() is None
        time.sleep(0.05)
    if how == signal.SIGINT:
        os.killpg(running.pid, how)
    else:
        os.kill(running.pid, how)
    out, told = running.communicate()
    assert out == ""
    if how == signal.SIGINT:
        assert (running.returncode, told.splitlines()[-1]) == (1, "it: stopped")
    while any(map(living, begun)):
        time.sleep(0.05)


@pytest.mark.parametrize("address", ["elsewhere", "elsewhere://here"])
def test_what_is_not_a_cluster_is_one_line(address: str) -> None:
    pytest.importorskip("ray", reason=RAY_EXTRA)
    with pytest.raises(UsageError, match=f"at {address}: "):
        list(run_cluster_jobs(abs, iter([1]), None, address))


def test_without_ray_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(UsageError) as error:
        list(run_cluster_jobs(abs, iter([1]), None, LOCAL_CLUSTER))
    assert error.value.fix == RAY_EXTRA
