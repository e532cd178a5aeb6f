"""A study: nothing is asked twice, nothing is lost, no more is spent; the answers are those of a session by itself."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.histories import TinyCounter
from tests.support.ollama_server import served
from tests.support.paths import ROOT
from tests.support.scripted import Scripted
from tests.support.sessions import tool_call
from tests.support.studies import UNANSWERED, answer, job, question, serial
from thimble.agent.errors import UsageError
from thimble.corpus.questions import load
from thimble.lab.pool import pooled
from thimble.lab.run.ask import NO_ROOM, JobResult, ask, hold
from thimble.lab.run.jobs import Job, plan
from thimble.lab.run.study import go_on, missing
from thimble.lab.run.study_rows import StudyRow, study_rows
from thimble.lab.store import Store
from thimble.session.session import Session


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    opened = Store(tmp_path / "s.jsonl", write=True)
    yield opened
    opened.close()


def lasting(row: StudyRow) -> StudyRow:
    """A row without what the clock says."""
    return replace(row, finished=0.0, seconds=0.0, tries=1, spent=0.0)


# --- jobs -------------------------------------------------------------------------------------------------------------

SPECS = ("none", "observation-masking", "hybrid")


@given(
    st.lists(st.sampled_from(SPECS), max_size=4),
    st.lists(st.integers(500, 9000), max_size=3),
    st.lists(st.integers(0, 9), max_size=3),
    st.integers(0, 2),
)
def test_a_plan_has_each_combination_once(specs: list[str], budgets: list[int], seeds: list[int], asked: int) -> None:
    questions = [question(f"q{number}") for number in range(asked)]
    jobs = plan(questions, specs, budgets, ["reader", "ollama:m"], seeds)
    served_ones = {(one.question.id, one.strategy, one.budget, one.seed) for one in jobs if one.model != "reader"}
    assert len({one.key for one in jobs}) == len(jobs)
    assert len(served_ones) == asked * len({*specs}) * len({*budgets}) * len({*seeds})
    assert len(jobs) == len(served_ones) + bool(seeds) * asked * len({*specs}) * len({*budgets})
    assert [one.question.id for one in jobs] == sorted(one.question.id for one in jobs)


def test_a_key_is_always_the_same() -> None:
    assert job(3).key == "8923f478b0f3a6bc90a77b9e79bdfdbe"  # a store of today must be gone on with tomorrow


def test_a_key_changes_with_all_that_changes_the_answer(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("def prepare(messages, budget):\n    return messages\n")
    (before,) = plan([question("q")], [str(mine)], [8000])
    mine.write_text("def prepare(messages, budget):\n    return messages[:]\n")
    (after,) = plan([question("q")], [str(mine)], [8000])
    one = job(model="openai:m@http://a")
    changes: list[dict[str, Any]] = [
        {"seed": 1}, {"temperature": 0.5}, {"summariser": "s"}, {"memory": "s"}, {"price": "cached=0.5"},
        {"budget": 500}, {"strategy": "hybrid"}, {"model": "openai:n@http://a"}, {"question": question("q0", 2)},
    ]  # fmt: skip
    others = [*(replace(one, **change) for change in changes), before, after]
    assert len({one.key, *(other.key for other in others)}) == 1 + len(others)
    assert replace(one, model="openai:m@http://b").key == one.key


# --- going on ---------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 6), max_size=4), st.sets(st.integers(0, 5)), st.integers(1, 20))
def test_nothing_is_asked_twice_and_the_ceiling_holds(tmp_path_factory: pytest.TempPathFactory, stops: list[int],
                                                      fails: set[int], ceiling: int) -> None:  # fmt: skip
    """Each command is stopped after some jobs; then one goes on to the end. Each job costs 3, and some fail once."""
    jobs = [job(number) for number in range(6)]
    asked: list[Job] = []

    def do(one: Job) -> JobResult:
        asked.append(one)
        failed = jobs.index(one) in fails and asked.count(one) == 1
        return JobResult((answer(),), "the server is gone" if failed else "", 0.1, 3)

    store = Store(tmp_path_factory.mktemp("study") / "s.jsonl", write=True)
    for stop in stops:
        go_on(jobs, store, lambda do, left, stop=stop: serial(do, islice(left, stop)), do=do)  # type: ignore[misc]
    before = len(asked)
    go_on(jobs, store, serial, ceiling, do)
    began = len(asked) - before
    assert 3 * len(asked) < ceiling + 3 or not began
    assert not missing(jobs, store) or began == 0 or 3 * len(asked) >= ceiling or fails
    go_on(jobs, store, serial, do=do)
    go_on(jobs, store, serial, do=do)
    rows = study_rows(store)
    assert {row.key: row.tries for row in rows} == {one.key: 1 + (at in fails) for at, one in enumerate(jobs)}
    assert sum(row.spent for row in rows) == 3 * len(asked)
    assert not any(row.error for row in rows)
    store.close()


def test_changed_flags_add_only_what_is_missing(store: Store) -> None:
    asked: list[Job] = []

    def do(one: Job) -> JobResult:
        asked.append(one)
        return JobResult((answer(),))

    questions = [question("a"), question("b")]
    go_on(plan(questions, ["none"], [8000]), store, serial, do=do)
    go_on(plan(questions, ["none", "hybrid"], [8000, 500]), store, serial, do=do)
    assert len(asked) == len({one.key for one in asked}) == 8


# --- answers ----------------------------------------------------------------------------------------------------------


def test_a_question_is_asked_in_a_session_of_its_own_and_answered_always_the_same() -> None:
    one = Job(question("q", 2), "llm-summary:every=1", 3000)
    result = ask(one)
    first, second = result.answers
    assert (first.right, first.why, second.right) == (True, "", True)
    assert first.turns > 1
    assert [bool(action.calls) for action in first.actions] == [True] * (first.turns - 1) + [False]
    assert first.actions[-1].text == first.text
    assert (first.prompt or 0) > 1000 * first.turns
    assert ask(one).answers == result.answers
    assert result.spent == pytest.approx(sum(each.cost or 0 for each in result.answers))


def test_a_question_without_room_is_a_wrong_answer_and_no_failure() -> None:
    result = ask(job(strategy="observation-masking", budget=300))
    (only,) = result.answers
    assert (result.error, only.right, only.why, only.ending, only.turns) == ("", False, "no answer", NO_ROOM, 0)
    assert only.places == (None,)


def scripted(one: Job, read: str) -> JobResult:
    """A job whose model reads something and then answers by its seed."""
    session = Session(one.settings)
    said = f"It is {84 if one.seed else 85} % [observation-masking]."
    session.agent.use(Scripted([["Look.", tool_call("read_article", slug=read)][1], said], TinyCounter()))
    return hold(session, one)


def test_two_seeds_of_a_scripted_model_are_two_results(store: Store) -> None:
    jobs = plan([question("q")], ["none"], [8000], ["ollama:m"], [0, 1])
    go_on([replace(one, model="reader") for one in jobs], store, serial,
          do=lambda one: scripted(one, "observation-masking"))  # fmt: skip
    rows = {row.seed: row.answers[0] for row in study_rows(store)}
    assert (rows[0].right, rows[1].right) == (False, True)
    for found in rows.values():
        assert found.places[0] is not None
        assert 0.2 < found.places[0] < 1


def test_a_passage_that_was_not_read_stood_nowhere() -> None:
    assert scripted(job(seed=1), "sampling").answers[0].places == (None,)


def test_a_server_gets_seed_and_temperature_and_one_that_is_gone_is_a_failure(store: Store) -> None:
    with served() as (ollama, url):
        jobs = plan([question("q")], ["none"], [8000], [f"ollama:qwen2.5:7b@{url}"], [3, 4], job(temperature=0.8))
        go_on(jobs, store, serial)
        options = [body["options"] for body in ollama.sent()]
    asked = {(option["seed"], option["temperature"]) for option in options}
    assert asked - {(3, 0)} == {(3, 0.8), (4, 0.8)}, "but for the trial of tool calls, at temperature 0"
    assert [(row.model, row.error) for row in study_rows(store)] == [("ollama:qwen2.5:7b", "")] * 2
    gone = [replace(one, budget=4000) for one in jobs]
    go_on(gone, store, serial)
    failed = [row for row in study_rows(store) if row.error]
    assert len(failed) == 2
    assert missing(jobs + gone, store) == gone


# --- processes --------------------------------------------------------------------------------------------------------

SLOW = """
import sys
from functools import partial
from pathlib import Path
from thimble.lab.pool import pooled
from thimble.lab.store import Store
from thimble.lab.run.study import go_on
from tests.support.studies import job, slowly
store = Store(Path(sys.argv[1]), write=True)
go_on([job(number) for number in range(30)], store, partial(pooled, processes=2), do=slowly)
"""


def python(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, *arguments], cwd=ROOT, text=True, start_new_session=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip


def begun(path: Path, running: subprocess.Popen[str], rows: int) -> dict[str, float]:
    """Wait until so many rows are there; when each was finished."""
    found: dict[str, float] = {}
    while len(found) < rows:
        assert running.poll() is None
        time.sleep(0.02)
        with suppress(UsageError):  # it is not there yet
            reader = Store(path)
            found = {row.key: row.finished for row in study_rows(reader)}
            reader.close()
    return found


def group(leader: int) -> list[str]:
    """The living processes of a group."""
    states = subprocess.run(["ps", "-o", "stat=", "-g", str(leader)], capture_output=True, text=True).stdout.split()
    return [state for state in states if not state.startswith("Z")]


def test_a_study_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    path, kept = tmp_path / "s.jsonl", dict[str, float]()
    for rows in (3, 9):
        with python("-c", SLOW, str(path)) as running:
            kept |= begun(path, running, rows)
            os.kill(running.pid, signal.SIGKILL)
        while group(running.pid):  # its workers follow it
            time.sleep(0.05)
    store = Store(path, write=True)
    go_on([job(number) for number in range(30)], store, serial, do=lambda _: JobResult((answer(),)))
    rows = study_rows(store)
    store.close()
    assert kept.items() <= {row.key: row.finished for row in rows}.items()
    assert [row.tries for row in rows] == [1] * 30


def test_ctrl_c_keeps_what_is_finished_and_gone_on_with_it_is_as_if_it_had_run_through(tmp_path: Path) -> None:
    path, asked = tmp_path / "s.jsonl", tmp_path / "asked.yaml"
    asked.write_text(UNANSWERED)
    flags = ("--questions", str(asked), "--strategy", "none", "--jobs", "1", "--store", str(path))
    with python("-m", "thimble.lab", "run", *flags) as running:
        begun(path, running, 1)
        os.killpg(running.pid, signal.SIGINT)
        out, told = running.communicate(timeout=60)
    assert (running.returncode, out) == (1, "")
    assert re.search(r"thimble lab: stopped: \d of 4 jobs are kept; the same command goes on\n$", told)
    assert not group(running.pid)
    jobs = plan(load(asked).questions, ["none"])
    store, through = Store(path, write=True), Store(tmp_path / "through.jsonl", write=True)
    for each in (store, through):
        go_on(jobs, each, serial)
    assert [*map(lasting, study_rows(store))] == [*map(lasting, study_rows(through))]
    store.close()
    through.close()


def test_a_worker_that_is_killed_is_one_line() -> None:
    with pytest.raises(UsageError, match="a worker process was killed"):
        list(pooled(_ended, iter(range(4)), 2))


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

    for done, _ in enumerate(pooled(abs, take(), processes)):
        assert taken <= done + 1 + 2 * processes
