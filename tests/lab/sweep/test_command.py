"""Sweep: its rows are those of a replay, and its best settings those of a slow search in fractions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from itertools import product
from operator import sub
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import react_history
from thimble.agent.budget import UNLIMITED, Prices
from thimble.agent.errors import UsageError
from thimble.agent.messages import Message
from thimble.commands.trajectories import read_trajectories
from thimble.lab.replay.recorded_replay import ReplaySetting, counter_of, replay_run, run_cost, run_figures
from thimble.lab.statistics import RESAMPLES, compare_paired, holm, least_shares
from thimble.lab.sweep.command import Cell, Sheet, main, sweep_tables
from thimble.lab.sweep.grid import parse_grid
from thimble.models import chat

MODEL = "no such model"
GRID = "observation-masking:when=always,window={0,1,4}"
SPECS = [GRID.replace("{0,1,4}", window) for window in ("0", "1", "4")]
TABLES = st.integers(1, 5).flatmap(
    lambda runs: st.lists(st.lists(st.integers(-3, 3), min_size=runs, max_size=runs), min_size=2, max_size=5)
)
"""A score of each run: a list for each setting."""

# --- the tables -------------------------------------------------------------------------------------------------------


def sheet(scores: Sequence[Sequence[int]], default: Sequence[int], spec: str = "x", budget: int = 8000) -> Sheet:
    """The sheet of a grid with a setting for each list of scores."""
    grid = parse_grid(f"x:a={{{','.join(map(str, range(len(scores))))}}}")
    at = {"budget": str(budget), "cached price": "0.1"}
    cells = [Cell(grid, {"a": a}, at, one, own) for ((a,), one), own in zip(grid.settings(), scores, strict=True)]
    return [*cells, Cell(grid, {}, at, spec, default)]


def best_rows(*sheets: Sheet) -> list[list[list[str]]]:
    """The rows of the table of the best ones, of each sheet."""
    found: list[list[list[str]]] = []
    for row in [*sweep_tables(sheets)][-1].rows:
        if row[0].startswith("cost, "):
            found.append([])
        else:
            found[-1].append([cell.strip() for cell in row])
    return found


def signed(number: float, places: int) -> str:
    return f"{number:+z.{places}f}".replace("-", "−")


@given(st.lists(TABLES, min_size=1, max_size=2))
def test_the_best_is_the_first_with_the_best_mean(tables: list[list[list[int]]]) -> None:
    found = best_rows(*(sheet(scores, default) for *scores, default in tables))
    told, ps = [], []
    for (best, *rivals), (*scores, default) in zip(found, tables, strict=True):
        means = [Fraction(sum(of), len(of)) for of in scores]
        first = min(range(len(means)), key=lambda at: (means[at], at))
        same = scores.count(scores[first]) - 1
        assert best[0] == f"x:a={first}{f' and {same} with the same scores' * bool(same)}"
        assert best[1].split()[0] == signed(float(means[first]), 1)
        others = {at: scores[at] for at in range(len(means)) if scores[at] != scores[first]}
        second = [min(others, key=lambda at: (means[at], at))] if others else []
        against = [(f"against the second, x:a={at}", scores[at]) for at in second]
        against += [("against the default, x", default)]
        assert [rival[0] for rival in rivals] == [name for name, _ in against]
        for rival, (_, other) in zip(rivals, against, strict=True):
            one = compare_paired(scores[first], other)
            assert rival[1].split()[0] == signed(mean(map(sub, scores[first], other)), 2)
            assert (rival[3] == "same") == (one.low == one.high == 0 and len(default) > 1)
            assert rival[3] != "told apart" or one.low > 0 or one.high < 0
            ps.append(one.p)
            told.append((rival[2], rival[3], len(default)))
    for (p, verdict, runs), corrected in zip(told, holm(ps), strict=True):
        assert (p, verdict == "one run") == ("" if runs == 1 else f"{corrected:.4f}", runs == 1)
        assert verdict != "told apart" or corrected < 0.05


def test_equal_settings_are_chosen_together_and_the_default_may_be_one_of_them() -> None:
    best, second, default = best_rows(sheet([[3, 9], [1, 2], [1, 2]], [1, 2]))[0]
    assert best == ["x:a=1 and 1 with the same scores", "+1.5 [+1.0, +2.0]", "", "chosen 100%"]
    assert (second[0], default[3]) == ("against the second, x:a=0", "same")
    assert best_rows(sheet([[1, 2]], [1, 2], spec="x:a=0")) == [[["x:a=0", "+1.5 [+1.0, +2.0]", "", "chosen 100%"]]]


def test_many_comparisons_ask_for_more() -> None:
    one = sheet([[0] * 6, [1, 1, 1, 1, 1, -1]], [9, 9, 8, 9, 9, 8])
    alone, many = (best_rows(*[one] * times)[0][1][2] for times in (1, 20))
    assert float(alone) < float(many)


@given(TABLES)
def test_a_row_is_least_as_often_as_in_all_resamples(rows: list[list[int]]) -> None:
    rows = [row[:4] for row in rows]
    n = len(rows[0])
    wins = np.zeros(len(rows))
    for places in product(range(n), repeat=n):
        sums = [sum(row[at] for at in places) for row in rows]
        wins += [total == min(sums) for total in sums]
    exact = wins / n**n
    error = 5 * np.sqrt(exact * (1 - exact) / RESAMPLES) + 1e-9
    assert (np.abs(np.array(least_shares(rows)) - exact) <= error).all()


def test_nothing_cannot_be_resampled() -> None:
    with pytest.raises(ValueError, match="nothing to resample"):
        least_shares([])


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(1, 2))
def test_maps_show_each_cell_once(a: int, b: int, c: int, budgets: int) -> None:
    grid = parse_grid(f"x:{','.join(f'{name}={{1..{size}}}' for name, size in zip('abc', (a, b, c), strict=True))}")
    made = []
    for budget in range(budgets):
        at = {"budget": str(budget), "cached price": "0.1"}
        cells = [
            Cell(grid, dict(zip("abc", values, strict=True)), at, spec, [budget]) for values, spec in grid.settings()
        ]
        made.append([*cells, Cell(grid, {}, at, "x", [0])])
    *drawn, _, _ = sweep_tables(made)
    swept = [size for size in (a, b, c, budgets) if size > 1]
    assert len({one.title for one in drawn}) == len(drawn)
    across = swept[1] if len(swept) > 1 else 1
    assert len(drawn) * (swept or [0])[0] * across == (a * b * c * budgets if swept else 0)
    for one in drawn:
        assert len({row[0] for row in one.rows}) == len(one.rows) == swept[0]
        assert len(one.columns) - 1 == (across if len(swept) > 1 else 2)


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three runs, of 3, 6 and 9 turns, and one whose question alone is over 1,000 tokens."""
    monkeypatch.chdir(tmp_path)
    several = {f"r{steps}": react_history(steps, 100) for steps in (3, 6, 9)}
    several["long"] = [Message("u", "user", "word " * 2000), Message("a", "assistant", "Yes.")]
    text = "\n".join(
        json.dumps({"id": name, "messages": [*map(chat.write_message, run)]}) for name, run in several.items()
    )
    (tmp_path / "runs.jsonl").write_text(text)
    return tmp_path / "runs.jsonl"


def swept(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    main([*arguments, "--model", MODEL, "--json", "--jobs", "1"], "sweep")
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def changes(runs: Path, spec: str, limit: int, price: Prices) -> dict[str, float]:
    """The change of the cost of each run that can be sent, call by call in this process."""
    found = {}
    for run in read_trajectories([runs]):
        of, raw = (
            run_figures(run, list(replay_run(run, ReplaySetting(name, limit, price, MODEL, 700))), counter_of(MODEL))
            for name in (spec, "none")
        )
        if not of["refused"]:
            found[run.name] = 100 * (run_cost(of, price) / run_cost(raw, price) - 1)
    return found


def test_the_scores_are_the_changes_of_a_replay(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = [str(runs), "--price", "cached=1.0,0.1", "--strategy", GRID, "--budget", "600", "none"]
    found = swept(capsys, *flags)
    for budget, spec, price in product((600, None), (*SPECS, "observation-masking"), (1.0, 0.1)):
        at = budget, spec, price
        own = [
            row for row in found if (row["budget"], row["strategy"], row["cached_price"]) == at and not row["refused"]
        ]
        expected = changes(runs, spec, budget or UNLIMITED, Prices(price))
        assert {row["run"]: row["change"] for row in own} == pytest.approx(expected)
    main([*flags, "--model", MODEL, "--report", "page.html"], "thimble lab sweep")
    text = capsys.readouterr().out
    assert "Not counted: 1 run with 1 call whose smallest view is over the budget (long)." in " ".join(text.split())
    assert "3 runs: so few make the intervals too narrow" in text
    assert "window ↓  budget →" in text
    assert text.count("against the default") == 4
    for spec in SPECS:
        assert signed(mean(changes(runs, spec, 600, Prices(0.1)).values()), 1) in Path("page.html").read_text()


def test_simulated_runs_are_apart(capsys: pytest.CaptureFixture[str]) -> None:
    flags = ["--simulated", "60,40,300", "--turns", "4", "9", "--budget", "none", "--strategy", GRID, "--lag", "0", "2"]
    main([*flags, "--price", "cached=1.0,0.1", "--model", MODEL, "--markdown"], "sweep")
    text = capsys.readouterr().out
    for lag, turns, price in product((0, 2), (4, 9), ("1", "0.1")):
        assert f"| cost, budget none, lag {lag}, turns {turns}, cached price {price} |" in text
    assert text.count(f"| {SPECS[0]} |") == 8 + 4  # the best of each, and a row for each lag and turn of all settings
    assert text.count("| one run |") == 8 * 2


@pytest.mark.parametrize(
    ("flags", "what"),
    [
        (["FILE", "--strategy", "observation-masking:window={1,many}"], "window=many is not valid"),
        (["FILE", "--strategy", "obervation-masking:window={1,2}"], "there is no strategy 'obervation-masking'"),
        (["FILE", "--strategy", "none", "--simulated", "1,2,3"], "give either FILE… or --simulated"),
        (["FILE"], "the following arguments are required: --strategy"),
        (["--strategy", "none", "--simulated", "1,2,x,3"], "--simulated 1,2,x,3 is not valid"),
        (["--strategy", "none", "--simulated", "60,40,300", "--budget", "1"], "no run fits the budget"),
    ],
)
def test_mistakes_are_told_before_anything_runs(flags: list[str], what: str, runs: Path) -> None:
    with pytest.raises(UsageError) as error:
        main([str(runs) if flag == "FILE" else flag for flag in flags], "sweep")
    assert what in error.value.what
    assert error.value.fix
