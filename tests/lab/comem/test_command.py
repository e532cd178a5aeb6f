"""The command: what it prints, what the page shows, recorded runs, and mistakes of a user."""

from __future__ import annotations

import csv
import json
import re
import sys
from io import StringIO
from itertools import islice
from pathlib import Path

import pytest
from hypothesis import given

from tests.support.histories import nasty_histories
from tests.support.paths import ROOT
from thimble.agent.errors import UsageError
from thimble.agent.messages import Message
from thimble.agent.repair import repair
from thimble.lab.comem.agent_runs import recorded as of_trajectory
from thimble.lab.comem.comem_paper import FIGURE_5, PAPER_TABLE
from thimble.lab.comem.command import main
from thimble.lab.comem.paper_cells import Assumed, figure_5, table_1
from thimble.lab.replay.recorded_replay import counter_of
from thimble.lab.replay.trajectories import Trajectory

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
    assert {cell["memory"] for cell in found} == {"full context", "no summary", "synchronous", "k-step-off"}
    assert len(found) == len(PAPER_TABLE) * 2 * 4
    assert all(cell["calls"] == 2 and cell["printed"] is None and cell["simulated"] > 0 for cell in found)
    main([recorded, "--batch", "4", "--csv"], "lab comem")
    lines = list(csv.DictReader(StringIO(capsys.readouterr().out)))
    assert [line["simulated"] for line in lines] == [str(cell["simulated"]) for cell in found]
    main([recorded, "--batch", "4"], "lab comem")
    assert "recorded, DeepSWE (32B), with CPU offload, 4 agents" in capsys.readouterr().out


def test_the_page_shows_what_is_simulated() -> None:
    """The first cell, which sets the observations, and the first two of Figure 5; the rest takes half a minute."""
    made = [*islice(table_1(Assumed(), 128, None), 1), *islice(figure_5(Assumed(), None), 2)]
    (shown,) = re.findall(r"^```text\n(.*?)^```$", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    for cell in made:
        key = f"{cell.batch}" if cell.part == "Figure 5" else f"{cell.calls:.2f}"
        row = re.search(rf"^{cell.memory} +{key} .*$", shown[shown.index(cell.part) :], re.MULTILINE)
        assert row
        assert {f"{cell.simulated:,.0f}", f"{cell.speedup:.2f}"} <= set(row[0].split())


def test_the_printed_speedups_are_those_of_the_paper() -> None:
    for agent, speedup in zip(PAPER_TABLE, [(1.68, 1.45), (1.61, 1.43), (1.92, 2.08)], strict=True):
        full, ours = (next(row for row in agent.rows if row.memory == name) for name in ("Full-Context", "GRPO"))
        found = [a / b for a, b in zip(full.printed, ours.printed, strict=True) if a and b]
        assert [round(each, 2) for each in found] == list(speedup)
    assert PAPER_TABLE[-1].rows[0].printed[1] == FIGURE_5[128][0]


@given(nasty_histories())
def test_a_recorded_run_has_all_tokens_of_its_history(history: list[Message]) -> None:
    counter = counter_of("no such model")
    run = of_trajectory(Trajectory("run", history), counter)
    counted = sum(map(counter.count, repair(history).messages))
    assert run.head + sum(turn.size for turn in run.turns) == counter.overhead(()) + counted


FLAGS = ("--batch", "--k", "--gpus", "--memory-gpus", "--output", "--observation", "--summary")


@pytest.mark.parametrize("flag", FLAGS)
@pytest.mark.parametrize("value", ["0", "-1", "1.5", "many", "²", "9999999"])
def test_a_number_that_is_not_possible_is_an_error_of_the_user(flag: str, value: str) -> None:
    with pytest.raises(UsageError, match=rf"{flag} .* is not possible"):
        main([f"{flag}={value}"], "lab comem")


def test_a_file_without_a_call_is_an_error_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text('[{"role": "user", "content": "Hello"}]')
    with pytest.raises(UsageError, match="no run has a call"):
        main([str(path)], "lab comem")
    with pytest.raises(UsageError, match="cannot be read"):
        main([str(tmp_path / "missing")], "lab comem")


def test_a_server_that_is_too_small_is_an_error_of_the_user(recorded: str) -> None:
    with pytest.raises(UsageError, match="has room for 0 tokens"):
        main([recorded, "--gpus", "1"], "lab comem")


def test_without_simpy_the_error_names_the_extra(recorded: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "simpy", None)
    with pytest.raises(UsageError) as error:
        main([recorded], "lab comem")
    assert error.value.fix == "pip install simpy"
