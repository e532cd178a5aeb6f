"""The command: its figures are those of lab replay, in every form; mistakes; the same each time."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from tests.support.histories import react
from thimble.agent.budget import UNLIMITED, Prices
from thimble.agent.errors import UsageError
from thimble.agent.messages import Message
from thimble.lab.replay.recorded_replay import ReplaySetting, counter_of, figures
from thimble.lab.replay.recorded_replay import replay as play
from thimble.lab.replay.trajectories import read
from thimble.lab.sweep.command import main
from thimble.lab.sweep.grid import parse_grid
from thimble.lab.sweep.sheet import GridCell, Sheet, judged
from thimble.lab.sweep.sweep_findings import findings, records
from thimble.models import chat

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
            figures(run, list(play(run, ReplaySetting(name, limit, price, MODEL, 700))), counter_of(MODEL))
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
    assert list(dict.fromkeys((cell["budget"], cell["cached_price"]) for cell in found)) == conditions
    for at, (budget, price) in enumerate(conditions):
        *cells, default = found[4 * at : 4 * at + 4]
        assert [cell["strategy"] for cell in cells] == SPECS
        assert (default["strategy"], default["default"]) == ("observation-masking", 1)
        for cell in cells:
            assert cell["runs"] == (["r3", "r6", "r9"] if budget else ["r3", "r6", "r9", "long"])
            expected = changes(runs, cell["strategy"], budget or UNLIMITED, Prices(price))
            assert cell["scores"] == pytest.approx(list(expected.values()))
            assert cell["mean"] == pytest.approx(mean(expected.values()))
        assert [cell["mean"] for cell in cells if cell["best"]] == [min(cell["mean"] for cell in cells)]


def test_people_see_maps_the_best_and_what_is_left_out(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = [str(runs), "--strategy", GRID, "sliding-window:window={1,2},target={0.4,0.8}", "--budget", "600"]
    main([*flags, "--model", MODEL, "--price", "cached=0.1", "--report", "page.html"], "thimble lab sweep")
    text = capsys.readouterr().out
    assert "Not counted: 1 run with 1 call whose least view is over the budget (long)." in text
    assert "3 runs: so few make the intervals too narrow" in text
    assert "window ↓  target →" in text
    assert text.count("against the default") == 2
    page = Path("page.html").read_text()
    for spec in SPECS:
        assert f"{mean(changes(runs, spec, 600, Prices(0.1)).values()):+.1f}".replace("-", "−") in page


def test_simulated_runs_are_apart(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--simulated", "60,40,300", "--turns", "4", "9", "--budget", "none", "--strategy", GRID]
    found = swept(capsys, *flags, "--price", "cached=1.0,0.1")
    sheets = list(dict.fromkeys((one["turns"], one["cached_price"]) for one in found))
    assert sheets == [(4, 1.0), (4, 0.1), (9, 1.0), (9, 0.1)]
    assert {one["verdict"] for one in found} == {None, "one run"}
    assert {one["strategy"] for one in found if one["best"]} == {
        SPECS[0]
    }  # where nothing stays, nothing is masked later


def test_a_summary_in_the_background_may_lag(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main([str(runs), "--strategy", "comem:k={1,2}", "--lag", "0", "2", "--model", MODEL, "--markdown"], "sweep")
    assert "| k ↓  lag → | 0 | 2 |" in capsys.readouterr().out


def test_every_form_has_the_best() -> None:
    grid = parse_grid("x:a={1,2}")
    cells = {at: GridCell(spec, [float(number), 9.5], {}) for number, (at, spec) in enumerate(grid.settings())}
    condition = {"budget": None, "cached_price": 0.1}
    found = [Sheet(grid, condition, ["r1", "r2"], cells, GridCell("x", [5.0, 9.5], {}))]
    bests = judged(found)
    flat = [(one["strategy"], one["best"], one["default"], one["mean"], one["scores"]) for one in records(bests)]
    assert flat == [("x:a=1", 1, 0, 4.75, [0, 9.5]), ("x:a=2", 0, 0, 5.25, [1, 9.5]), ("x", 0, 1, 7.25, [5, 9.5])]
    one_axis, _, best = findings(found, bests, ["Two runs."]).tables
    assert one_axis.rows[0] == ("1", "+4.8*", "[+0.0, +9.5]")
    assert best.rows[:2] == [
        ["cost, budget none, cached price 0.1", "", "", ""],
        ["  x:a=1", "+4.8 [+0.0, +9.5]", "", "chosen 100%"],
    ]


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        (["FILE", "--strategy", "observation-masking:window={1,many}"], "window=many is not possible"),
        (["FILE", "--strategy", "observation-masking:size={1,2}"], "observation-masking has no parameter 'size'"),
        (["FILE", "--strategy", "obervation-masking:window={1,2}"], "there is no strategy 'obervation-masking'"),
        (["FILE", "--strategy", "none", "--budget", "0"], "budget cannot be '0'"),
        (["FILE", "--strategy", "none", "--simulated", "1,2,3"], "give FILE… or --simulated"),
        (["FILE"], "the following arguments are required: --strategy"),
        (["--strategy", "none"], "give FILE… or --simulated"),
        (["--strategy", "none", "--simulated", "1,2"], "--simulated 1,2 is not possible"),
        (["--strategy", "none", "--simulated", "1,2,x,3"], "--simulated 1,2,x,3 is not possible"),
        (["--strategy", "none", "--simulated", "60,40,300", "--turns", "0"], "--turns 0 is not possible"),
        (["--strategy", "none", "--simulated", "60,40,300", "--budget", "1"], "no run can be sent"),
    ],
)
def test_mistakes_are_told_before_anything_runs(flags: list[str], what: str, runs: Path) -> None:
    with pytest.raises(UsageError) as error:
        main([str(runs) if flag == "FILE" else flag for flag in flags], "sweep")
    assert what in error.value.what
    assert error.value.fix
