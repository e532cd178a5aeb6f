"""The command: what it prints, what the page shows, recorded runs, and mistakes of a user."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given

from tests.support.histories import nasty_histories
from tests.support.paths import ROOT
from thimble.agent.errors import UsageError
from thimble.agent.messages import Message
from thimble.agent.repair import repair
from thimble.commands.trajectories import Trajectory
from thimble.lab.comem.agent_runs import recorded_sizes as of_trajectory
from thimble.lab.comem.comem_paper import FIGURE_5, PAPER_TABLE
from thimble.lab.comem.command import main
from thimble.lab.replay.recorded_replay import counter_of

PAGE = ROOT / "docs" / "results" / "comem.md"
RUN = [
    {"role": "system", "content": "Answer."},
    {"role": "user", "content": "What is a thimble? " * 20},
    {"role": "assistant", "content": "", "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]},
    {"role": "tool", "tool_call_id": "1", "content": "A small cap for a finger. " * 30},
    {"role": "assistant", "content": "A small cap."},
]  # fmt: skip


@pytest.fixture
def recorded(tmp_path: Path) -> str:
    path = tmp_path / "run.json"
    path.write_text(json.dumps(RUN))
    return str(path)


def test_recorded_runs_are_shown_under_each_strategy(recorded: str, capsys: pytest.CaptureFixture[str]) -> None:
    main([recorded, "--batch", "4", "--json"], "lab comem")
    found = json.loads(capsys.readouterr().out)
    assert len(found) == len(PAPER_TABLE) * 2 * 4
    assert {cell["memory"] for cell in found} == {"full context", "no summary", "synchronous", "k-step-off"}
    assert all(cell["calls"] == 2 and cell["printed"] is None and cell["simulated"] > 0 for cell in found)
    main([recorded, "--batch", "4"], "lab comem")
    told = capsys.readouterr().out
    assert "recorded, DeepSWE (32B), with CPU offload, 4 agents" in told
    first = re.search(r"^full context +2\.00 +– +(\S+) +– +1\.00 +0 *$", told, re.MULTILINE)
    assert first
    assert first[1] == f"{found[0]['simulated']:,.0f}"


def test_the_printed_speedups_are_those_of_the_paper() -> None:
    for agent, speedup in zip(PAPER_TABLE, [(1.68, 1.45), (1.61, 1.43), (1.92, 2.08)], strict=True):
        full, ours = (next(row for row in agent.rows if row.memory == name) for name in ("Full-Context", "GRPO"))
        found = [a / b for a, b in zip(full.printed, ours.printed, strict=True) if a and b]
        assert [round(each, 2) for each in found] == list(speedup)
        assert [row.printed[1] for row in FIGURE_5[128]] == [PAPER_TABLE[-1].rows[at].printed[1] for at in (0, 4)]


@given(nasty_histories())
def test_a_recorded_run_has_all_tokens_of_its_history(history: list[Message]) -> None:
    counter = counter_of("no such model")
    messages = repair(history).messages
    run = of_trajectory(Trajectory("run", messages), counter)
    counted = sum(map(counter.count, messages))
    assert run.head + sum(turn.size for turn in run.turns) == counter.overhead(()) + counted


def test_a_mistake_of_the_user_is_one(recorded: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for flag in ("--batch", "--k", "--gpus", "--memory-gpus", "--output", "--observation", "--summary"):
        for value in ("0", "9999999"):
            with pytest.raises(UsageError, match=rf"{flag} {value} is not valid"):
                main([f"{flag}={value}"], "lab comem")
    without_call = tmp_path / "without.json"
    without_call.write_text('[{"role": "user", "content": "Hello"}]')
    for arguments, what in (
        ([str(without_call)], "the runs have no model calls"),
        ([str(tmp_path / "missing")], "cannot be read"),
        ([recorded, "--gpus", "1"], "has room for 0 tokens"),
    ):
        with pytest.raises(UsageError, match=what):
            main(arguments, "lab comem")
    monkeypatch.setitem(sys.modules, "simpy", None)
    with pytest.raises(UsageError) as error:
        main([recorded], "lab comem")
    assert error.value.fix == "pip install simpy"
