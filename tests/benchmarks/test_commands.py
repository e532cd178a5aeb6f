"""The benchmark of commands types every command, and leaves the session as it found it."""

from __future__ import annotations

import re

import pytest

from benchmarks.commands import ARGUMENTS, LEFT_OUT, long_session, main, milliseconds, typed
from thimble.repl.commands.table import COMMANDS

STEPS = 60
ROW = r"^\| `(/.+?)` \|"


def test_every_command_is_typed_or_left_out_by_name() -> None:
    assert {line.split()[0] for line in typed()} == {f"/{name}" for name in COMMANDS.keys() - LEFT_OUT}
    assert {*ARGUMENTS} <= {*COMMANDS} - {*LEFT_OUT}


@pytest.mark.nightly
def test_it_prints_a_row_for_each_and_names_those_that_it_leaves_out(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([], STEPS, times=1) == 0
    printed = capsys.readouterr().out
    assert re.findall(ROW, printed, re.MULTILINE) == typed()
    assert all((f"/{name} (" in printed) == (name in COMMANDS) for name in LEFT_OUT)


def test_what_is_typed_meets_the_same_session_each_time() -> None:
    session = long_session(STEPS)
    agent = session.agent
    before = [*agent.history], agent.ledger, [*agent.ledger.calls]
    for line in ["/strategy hybrid", "/budget 4000", "/reset", "/plant It is 7.", "/fork 1 none", "/undo", "/retry"]:
        milliseconds(session, line)
        assert (agent.history, agent.ledger, agent.ledger.calls) == before
    assert len(agent.history) == 2 * STEPS + 1
    assert agent.ledger.view
    assert [*session.journal.tree.branches] == [1, 2]
    assert len(agent.ledger.calls) == STEPS
