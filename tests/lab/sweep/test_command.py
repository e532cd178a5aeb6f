"""The command: its figures are those of lab replay and lab questions, in every form; mistakes; the same each time."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean
from typing import Any
from xml.etree import ElementTree

import pytest

from agent.budget import UNLIMITED, Prices
from agent.errors import UsageError
from agent.messages import Message
from lab.questions import Mark, Setting
from lab.replay.runs import Setting as HowReplayed
from lab.replay.runs import counter_of, figures
from lab.replay.runs import replay as play
from lab.replay.trajectories import read
from lab.sweep import records
from lab.sweep import sweep_tables as tables
from lab.sweep.asked import COST, RIGHT, sheets
from lab.sweep.command import main
from lab.sweep.grid import parse_grid
from lab.sweep.sheet import Cell, Sheet, judged
from models import chat
from tests.support.histories import react

MODEL = "no such model"
GRID = "observation-masking:when=always,window={0,1,4}"
SPECS = [GRID.replace("{0,1,4}", window) for window in ("0", "1", "4")]


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three runs, of 3, 6 and 9 turns, and one whose question alone is over 1,000 tokens."""
    monkeypatch.chdir(tmp_path)
    several = {f"r{steps}": react(steps, 100) for steps in (3, 6, 9)}
    several["long"] = [Message("u", "user", "word " * 2000), Message("a", "assistant", "Yes.")]
    text = "\n".join(json.dumps({"id": name, "messages": [*map(chat.write, run)]}) for name, run in several.items())
    (tmp_path / "runs.jsonl").write_text(text)
    return tmp_path / "runs.jsonl"


def swept(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    main([*arguments, "--model", MODEL, "--json"], "sweep")
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def changes(runs: Path, spec: str, limit: int, price: Prices) -> dict[str, float]:
    """The change of the cost of each run that can be sent, call by call in this process."""
    found = {}
    for run in read([runs]):
        of, raw = (
            figures(run, list(play(run, HowReplayed(name, limit, price, MODEL, 700))), counter_of(MODEL))
            for name in (spec, "none")
        )
        if not of.refused:
            found[run.name] = 100 * (of.cost(price) / raw.cost(price) - 1)
    return found


def test_the_scores_are_the_changes_of_a_replay(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = [str(runs), "--price", "cached=1.0,0.1", "--strategy", GRID, "--budget", "600", "none"]
    found = swept(capsys, *flags)
    assert found == swept(capsys, *flags, "--jobs", "1")
    conditions = [(600, 1.0), (600, 0.1), (None, 1.0), (None, 0.1)]
    assert [(sheet["budget"], sheet["cached_price"]) for sheet in found] == conditions
    for sheet, (budget, price) in zip(found, conditions, strict=True):
        assert sheet["runs"] == (["r3", "r6", "r9"] if budget else ["r3", "r6", "r9", "long"])
        for cell, spec in zip(sheet["cells"], SPECS, strict=True):
            expected = changes(runs, spec, budget or UNLIMITED, Prices(price))
            assert (cell["strategy"], cell["scores"]) == (spec, pytest.approx(list(expected.values())))
            assert cell["mean"] == pytest.approx(mean(expected.values()))
        assert sheet["mean"] == min(cell["mean"] for cell in sheet["cells"])
        assert sheet["default"]["strategy"] == "observation-masking"


def test_people_see_maps_the_best_and_what_is_left_out(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = [str(runs), "--strategy", GRID, "sliding-window:window={1,2},target={0.4,0.8}", "--budget", "600"]
    main([*flags, "--model", MODEL, "--price", "cached=0.1", "--report", "page.html"], "thimble lab sweep")
    text = capsys.readouterr().out
    assert "Not counted: 1 run with 1 call whose least view is over the budget (long)." in text
    assert "3 runs: so few make the intervals too narrow" in text
    assert "window ↓  target →" in text
    assert text.count("against the default") == 2
    assert "█" in text
    written = [one.get("value") for one in ElementTree.parse("page.html").iter("{http://www.w3.org/1999/xhtml}data")]
    for spec in SPECS:
        expected = list(changes(runs, spec, 600, Prices(0.1)).values())
        assert any(float(value or "nan") == pytest.approx(mean(expected)) for value in written)


def test_simulated_runs_are_apart(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--simulated", "60,40,300", "--turns", "4", "9", "--budget", "none", "--strategy", GRID]
    found = swept(capsys, *flags, "--price", "cached=1.0,0.1")
    assert [(one["turns"], one["cached_price"]) for one in found] == [(4, 1.0), (4, 0.1), (9, 1.0), (9, 0.1)]
    assert {one["second"]["verdict"] for one in found} == {"one run"}
    assert {one["best"] for one in found} == {SPECS[0]}  # where nothing stays, nothing is masked later


def test_a_summary_in_the_background_may_lag(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(runs), "--strategy", "comem:k={1,2}", "--lag", "0", "2", "--model", MODEL, "--markdown"], "sweep")
    assert "| k ↓  lag → | 0 | 2 |" in capsys.readouterr().out


def test_every_form_has_the_best() -> None:
    grid = parse_grid("x:a={1,2}")
    cells = {at: Cell(spec, [float(number), 9.5], {}) for number, (at, spec) in enumerate(grid.settings())}
    found = [Sheet(grid, {"budget": None}, COST, ["r1", "r2"], cells, Cell("x", [5.0, 9.5], {}))]
    bests = judged(found)
    (one,) = records.objects(bests)
    assert (one["best"], one["mean"], one["second"]["difference"]) == ("x:a=1", 4.75, -0.5)
    assert [cell["scores"] for cell in one["cells"]] == [[0, 9.5], [1, 9.5]]
    lines = [(line["strategy"], line["best"], line["default"]) for line in records.lines(bests)]
    assert lines == [("x:a=1", 1, 0), ("x:a=2", 0, 0), ("x", 0, 1)]
    text = "\n".join(tables.markdown(["Two runs."], list(tables.shown(found, bests))))
    assert r"| 1 | 5\* | [0, 10] |" in text
    assert "| cost, budget none |" in text
    assert "| x:a=1 | 5 [0, 10] | | chosen 100% |" in text.replace("|  |", "| |")


def marked(question: str, right: bool, tokens: int) -> Mark:
    return Mark(question, "dialogue", 1, False, False, right, "", "", 2, tokens, 10)


def test_dialogues_are_scored_whole() -> None:
    grid = parse_grid("x:a={1,2}")
    answers = {"x:a=1": [True, False, True], "x:a=2": [True, True, True], "x": [False, False, True]}
    marks = {
        Setting(spec, 8000): [marked(name, right, 100) for name, right in zip("aab", rights, strict=True)]
        for spec, rights in answers.items()
    }
    right, cost = sheets([grid], marks, [8000], [Prices(0.1)])
    assert (right.measure, cost.measure) == (RIGHT, COST)
    assert [cell.scores for cell in right.cells.values()] == [[50, 100], [100, 100]]
    assert right.default.scores == [0, 100]
    assert [cell.scores for cell in cost.cells.values()] == [[38, 19], [38, 19]]
    assert right.runs == ["a", "b"]


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        (["--strategy", "observation-masking:window={1,many}"], "window=many is not possible"),
        (["--strategy", "observation-masking:size={1,2}"], "observation-masking has no parameter 'size'"),
        (["--strategy", "obervation-masking:window={1,2}"], "there is no strategy 'obervation-masking'"),
        (["--strategy", "none", "--most", "3"], "these are 4 replays"),
        (["--strategy", "hybrid:window={1..900},tail={1..900},every={1..900}"], "these are 729,000,001 settings"),
        (["--strategy", "none", "--budget", "0"], "budget cannot be '0'"),
        (["--strategy", "none", "--questions"], "give FILE…, --simulated or --questions"),
        (["--strategy", "none", "--simulated", "1,2,3"], "give FILE…, --simulated or --questions"),
        ([], "the following arguments are required: --strategy"),
    ],
)
def test_mistakes_are_told_before_anything_runs(flags: list[str], what: str, runs: Path) -> None:
    with pytest.raises(UsageError) as error:
        main([str(runs), *flags], "sweep")
    assert what in error.value.what
    assert error.value.fix


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        ([], "give FILE…, --simulated or --questions"),
        (["--simulated", "1,2"], "--simulated 1,2 is not possible"),
        (["--simulated", "1,2,x,3"], "--simulated 1,2,x,3 is not possible"),
        (["--simulated", "60,40,300", "--turns", "0"], "--turns 0 is not possible"),
        (["--simulated", "60,40,300", "--budget", "1"], "no run can be sent"),
        (["--questions", "--budget", "none"], "--budget is not possible with --questions"),
    ],
)
def test_mistakes_without_a_file(flags: list[str], what: str) -> None:
    with pytest.raises(UsageError) as error:
        main([*flags, "--strategy", "none"], "sweep")
    assert what in error.value.what
