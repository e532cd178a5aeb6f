"""The frame: nothing is measured twice, nothing is lost, no more is spent; whatever ends it, finished cases stay."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.paths import ROOT
from thimble.agent.errors import UsageError
from thimble.lab.experiment import Experiment, Row, Rows, run_experiment
from thimble.lab.findings import Findings, ResultTable
from thimble.lab.pool import run_jobs
from thimble.lab.store import Store


@dataclass(frozen=True)
class Toy:
    """A number, which `fails` at its first measurement or not. Each one is a line of a file."""

    number: int
    fails: bool
    log: Path

    @property
    def key(self) -> str:
        return f"{self.number}"

    @property
    def size(self) -> int:
        return 1


class Toys(Experiment[Toy]):
    """Measure numbers, each for a cost of 3."""

    def add_flags(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("--ceiling", type=float, default=float("inf"))
        parser.add_argument("--fails", nargs="*", type=int, default=[])
        parser.add_argument("--numbers", type=int, default=6)
        parser.add_argument("log", type=Path)

    def cases(self, options: argparse.Namespace) -> list[Toy]:
        return [Toy(number, number in options.fails, options.log) for number in range(options.numbers)]

    def measure(self, case: Toy) -> list[Row]:
        measured = case.log.read_text().split() if case.log.exists() else []
        with case.log.open("a") as log:
            log.write(f"{case.number}\n")
        time.sleep(0.05 if case.log.name == "slow" else 0)
        error = "gone" if case.fails and case.key not in measured else ""
        return [{"number": case.number, "error": error, "spent": 3}]

    def report(self, rows: Rows, options: argparse.Namespace) -> Findings:
        table = ResultTable("Toys", ["number"], [[f"{row['number']}"] for row in rows])
        return Findings("Toys", [], [table], rows)


@settings(max_examples=settings().max_examples // 3)
@given(st.lists(st.integers(1, 25), max_size=3), st.sets(st.integers(0, 5)))
def test_nothing_is_measured_twice_and_the_ceiling_holds(
    tmp_path_factory: pytest.TempPathFactory, ceilings: list[int], fails: set[int]
) -> None:
    """Each command stops at its ceiling; then two go on to the end. At most two cases are under way."""
    folder = tmp_path_factory.mktemp("toys")
    log, path = folder / "log", folder / "s.jsonl"
    flags = [str(log), "--store", str(path), "--jobs", "1", "--json", "--fails", *map(str, fails)]
    before = 0
    for ceiling in [*ceilings, 10**6, 10**6]:
        run_experiment(Toys(), [*flags, "--ceiling", str(ceiling)], "toys")
        measured = log.read_text().split() if log.exists() else []
        assert 3 * len(measured) < ceiling + 2 * 3 or len(measured) == before
        before = len(measured)
    assert {key: measured.count(key) for key in measured} == {f"{n}": 1 + (n in fails) for n in range(6)}
    store = Store(path)
    spent = {record["key"].removeprefix("measured "): record["spent"] for record in store.records()}
    assert spent == {key: 3 * measured.count(key) for key in measured}
    assert not any(record["rows"][0]["error"] for record in store.records())
    store.close()


def test_a_command_shows_its_own_cases_in_their_order_and_other_flags_add_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = [str(tmp_path / "log"), "--store", str(tmp_path / "s.jsonl"), "--jobs", "2"]
    for numbers in (12, 3, 13):
        run_experiment(Toys(), [*flags, "--numbers", str(numbers), "--json"], "toys")
        assert [row["number"] for row in json.loads(capsys.readouterr().out)] == [*range(numbers)]
    assert sorted(map(int, (tmp_path / "log").read_text().split())) == [*range(13)]
    run_experiment(Toys(), [*flags, "--numbers", "0", "--json"], "toys")
    assert len(json.loads(capsys.readouterr().out)) == 13, "without a case those of the store are shown"


def group(leader: int) -> list[str]:
    """The living processes of a group."""
    states = subprocess.run(["ps", "-o", "stat=", "-g", str(leader)], capture_output=True, text=True).stdout.split()
    return [state for state in states if not state.startswith("Z")]


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 1)])
def test_what_ends_the_command_loses_no_finished_case(tmp_path: Path, sent: signal.Signals, code: int) -> None:
    path = tmp_path / "s.jsonl"
    flags = [str(tmp_path / "slow"), "--store", str(path), "--numbers", "30", "--jobs", "2"]
    text = (
        "import sys; from tests.lab.test_experiment import *; from thimble.lab.exit_code import exit_code; "
        "sys.exit(exit_code('toys', lambda: run_experiment(Toys(), sys.argv[1:], 'toys')))"
    )
    kept: list[Row] = []
    with subprocess.Popen([sys.executable, "-c", text, *flags], cwd=ROOT, start_new_session=True,
                          stderr=subprocess.PIPE, text=True) as running:  # fmt: skip
        while len(kept) < 3:
            assert running.poll() is None
            time.sleep(0.02)
            with suppress(UsageError):  # it is not there yet
                reader = Store(path)
                kept = reader.records()
                reader.close()
        os.kill(running.pid, sent)
        _, told = running.communicate(timeout=60)
    assert running.returncode == code
    assert ("of 30 cases are kept; the same command continues" in told) == (sent == signal.SIGINT)
    while group(running.pid):  # its workers follow it
        time.sleep(0.05)
    run_experiment(Toys(), flags, "toys")
    store = Store(path)
    records = store.records()
    store.close()
    assert len(records) == 30
    assert all(record in records for record in kept)


# --- the pool ---------------------------------------------------------------------------------------------------------


def test_a_worker_that_is_killed_is_one_line() -> None:
    with pytest.raises(UsageError, match="a worker process was killed"):
        list(run_jobs(_ended, iter(range(4)), 2))


def _ended(number: int) -> int:
    if number:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


@settings(max_examples=settings().max_examples // 5)
@given(st.lists(st.integers()), st.integers(1, 3))
def test_a_pool_takes_no_more_jobs_than_it_can_use(jobs: list[int], processes: int) -> None:
    taken = 0

    def take() -> Iterator[int]:
        nonlocal taken
        for one in jobs:
            taken += 1
            yield one

    for done, _ in enumerate(run_jobs(abs, take(), processes)):
        assert taken <= done + 1 + 2 * processes
