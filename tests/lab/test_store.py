"""The store: whatever is finished stays, in any order, over crashes; one process writes, and others are refused."""

from __future__ import annotations

import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from agent.errors import UsageError
from lab.run.ask import Result
from lab.run.study import missing
from lab.store import Store
from tests.support.paths import ROOT
from tests.support.studies import answer, job

JOBS = [job(number) for number in range(6)]


class Crashes(RuleBasedStateMachine):
    """Jobs finish in any order, some fail, and the machine stops at any moment: the disk is as it was then."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.names = count()
        self.store = Store(self.folder / f"{next(self.names)}.db", write=True)
        self.kept: dict[str, tuple[str, int, float]] = {}

    @rule(
        at=st.integers(0, len(JOBS) - 1), error=st.sampled_from(("", "", "the server is gone")), cost=st.integers(0, 9)
    )
    def finish(self, at: int, error: str, cost: int) -> None:
        self.store.add(JOBS[at], Result((answer(places=(0.5, None)),), error, 1.0, cost))
        _, tries, spent = self.kept.get(JOBS[at].key, ("", 0, 0.0))
        self.kept[JOBS[at].key] = error, tries + 1, spent + cost

    @rule()
    def crash(self) -> None:
        old, new = self.store.path, self.folder / f"{next(self.names)}.db"
        for end in ("", "-wal"):  # what kill -9 leaves on the disk
            if Path(f"{old}{end}").exists():
                shutil.copy(f"{old}{end}", f"{new}{end}")
        self.store.close()
        self.store = Store(new, write=True)

    @rule()
    def reopen(self) -> None:
        self.store.close()
        self.store = Store(self.store.path, write=True)

    @invariant()
    def what_was_finished_is_there_once(self) -> None:
        rows = self.store.rows()
        assert {row.key: (row.error, row.tries, row.spent) for row in rows} == self.kept
        assert len(rows) == len(self.kept)
        assert all(row.answers == (answer(places=(0.5, None)),) for row in rows)

    @invariant()
    def what_is_missing_has_no_result(self) -> None:
        done = {key for key, (error, _, _) in self.kept.items() if not error}
        assert {one.key for one in missing(JOBS, self.store)} == {one.key for one in JOBS} - done

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)


TestCrashes = Crashes.TestCase
TestCrashes.settings = settings(max_examples=settings().max_examples // 5, stateful_step_count=20)


def test_a_second_writer_is_refused_and_a_reader_is_not(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    store = Store(path, write=True)
    store.add(JOBS[0], Result((answer(),)))
    second = f"from pathlib import Path; from lab.store import Store; Store(Path({str(path)!r}), write=True)"
    refused = subprocess.run([sys.executable, "-c", second], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert f"{path} is written by another thimble lab run" in refused.stderr
    reader = Store(path)
    assert len(reader.rows()) == 1
    store.add(JOBS[1], Result((answer(),)))
    assert len(reader.rows()) == 2
    reader.close()
    store.close()
    Store(path, write=True).close()


def test_a_killed_writer_leaves_a_store_that_opens(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    writes = f"""if True:
        from pathlib import Path
        from itertools import count
        from lab.run.ask import Result
        from lab.store import Store
        from tests.support.studies import job
        store = Store(Path({str(path)!r}), write=True)
        for number in count():
            store.add(job(number), Result())
            print(number, flush=True)
    """
    with subprocess.Popen([sys.executable, "-c", writes], cwd=ROOT, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout
        told = [next(writer.stdout) for _ in range(20)]
        os.kill(writer.pid, signal.SIGKILL)
    store = Store(path, write=True)
    assert {f"q{number.strip()}" for number in told} <= {row.question for row in store.rows()}
    store.close()


def test_what_is_no_store_is_one_line_and_how_to_mend_it(tmp_path: Path) -> None:
    text, other, newer = (tmp_path / name for name in ("text.db", "other.db", "newer.db"))
    text.write_text("no database" * 100)
    with sqlite3.connect(other) as file:
        file.execute("CREATE TABLE results (key)")
    file.close()
    Store(newer, write=True).close()
    with sqlite3.connect(newer) as file:
        file.execute("PRAGMA user_version = 99")
    file.close()
    for path, what in ((text, "cannot be used"), (other, "of another program"), (newer, "of a newer thimble")):
        for write in (True, False):
            with pytest.raises(UsageError, match=what):
                Store(path, write=write)
    for path, what in ((tmp_path / "none.db", "there is no store"), (tmp_path, "there is no store")):
        with pytest.raises(UsageError, match=what):
            Store(path)
    for path in (tmp_path, tmp_path / "nowhere" / "s.db"):
        with pytest.raises(UsageError, match="cannot be opened"):
            Store(path, write=True)
