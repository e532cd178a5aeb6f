"""The best of a sheet, against a slow search in fractions; and how often resamples choose it, against all resamples."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from operator import sub
from statistics import mean

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.lab.statistics import RESAMPLES, holm, least
from thimble.lab.sweep.grid import parse_grid
from thimble.lab.sweep.sheet import DEFAULT_SETTING, SECOND_BEST, GridCell, Sheet, judged
from thimble.lab.sweep.sweep_findings import findings


def sheet(scores: list[list[int]], default: list[int]) -> Sheet:
    """A sheet of a grid with a cell for each list of scores."""
    grid = parse_grid(f"x:a={{{','.join(map(str, range(len(scores))))}}}")
    cells = {at: GridCell(spec, of, {}) for (at, spec), of in zip(grid.settings(), scores, strict=True)}
    names = [f"r{number}" for number in range(len(default))]
    return Sheet(grid, {"budget": 8000}, names, cells, GridCell("x", default, {}))


TABLES = st.integers(1, 5).flatmap(
    lambda runs: st.lists(st.lists(st.integers(-3, 3), min_size=runs, max_size=runs), min_size=2, max_size=5)
)


@given(st.lists(TABLES, min_size=1, max_size=2))
def test_the_best_is_the_first_with_the_best_mean(tables: list[list[list[int]]]) -> None:
    sheets = [sheet(scores, default) for *scores, default in tables]
    found = judged(sheets)
    ps = []
    for best, (*scores, default) in zip(found, tables, strict=True):
        means = [Fraction(sum(of), len(of)) for of in scores]
        first = min(range(len(means)), key=lambda at: (means[at], at))
        assert best.cell.spec == f"x:a={first}"
        same = [at for at in range(len(means)) if at != first and scores[at] == scores[first]]
        assert best.same == [f"x:a={at}" for at in same]
        others = [at for at in range(len(means)) if at not in (first, *same)]
        assert (SECOND_BEST in best.rivals) == bool(others)
        if others:
            assert best.rivals[SECOND_BEST].cell.spec == f"x:a={min(others, key=lambda at: (means[at], at))}"
        rival = best.rivals[DEFAULT_SETTING]
        assert rival.found.difference == pytest.approx(mean(map(sub, scores[first], default)))
        ps += [each.found.p for each in best.rivals.values()]
        if len(default) > 1:
            assert (rival.verdict == "same") == (rival.found.low == rival.found.high == 0)
            assert rival.verdict != "told apart" or rival.found.low > 0 or rival.found.high < 0
    assert [rival.corrected for best in found for rival in best.rivals.values()] == holm(ps)


def test_a_setting_that_is_the_default_is_not_compared_with_it() -> None:
    grid = parse_grid("x")
    alone = GridCell("x", [1.0, 2.0], {})
    (best,) = judged([Sheet(grid, {}, ["a", "b"], {(): alone}, alone)])
    assert (best.cell, best.share, best.rivals) == (alone, 1.0, {})


def test_equal_settings_are_the_same_and_chosen_together() -> None:
    (best,) = judged([sheet([[3, 9], [1, 2], [1, 2]], [1, 2])])
    assert (best.cell.spec, best.same, best.share) == ("x:a=1", ["x:a=2"], 1.0)
    assert (best.rivals[SECOND_BEST].cell.spec, best.rivals[DEFAULT_SETTING].verdict) == ("x:a=0", "same")


def test_one_run_tells_nothing_apart() -> None:
    (best,) = judged([sheet([[1], [5]], [5])])
    assert {rival.verdict for rival in best.rivals.values()} == {"one run"}


def test_many_comparisons_ask_for_more() -> None:
    scores, default = [[0] * 6, [1, 1, 1, 1, 1, -1]], [9, 9, 8, 9, 9, 8]
    alone = judged([sheet(scores, default)])[0].rivals[SECOND_BEST]
    many = judged([sheet(scores, default)] * 20)[0].rivals[SECOND_BEST]
    assert alone.corrected < many.corrected


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
    assert (np.abs(np.array(least(rows)) - exact) <= error).all()


def test_nothing_cannot_be_resampled() -> None:
    with pytest.raises(ValueError, match="nothing to resample"):
        least([])


@given(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3), st.integers(1, 2))
def test_maps_show_each_cell_once(a: int, b: int, c: int, budgets: int) -> None:
    axes = ",".join(f"{name}={{1..{size}}}" for name, size in zip("abc", (a, b, c), strict=True))
    grid = parse_grid(f"x:{axes}")
    sheets = [
        Sheet(
            grid,
            {"budget": budget, "cached_price": 0.1},
            ["r"],
            {at: GridCell(spec, [budget], {}) for at, spec in grid.settings()},
            GridCell("x", [0], {}),
        )
        for budget in range(budgets)
    ]
    *drawn, _, _ = findings(sheets, judged(sheets), []).tables
    swept = [size for size in (a, b, c, budgets) if size > 1]
    assert len({one.title for one in drawn}) == len(drawn)
    if not swept:
        assert drawn == []
        return
    across = swept[1] if len(swept) > 1 else 1
    assert len(drawn) * swept[0] * across == a * b * c * budgets
    for one in drawn:
        assert len(one.rows) == swept[0]
        assert len({row[0] for row in one.rows}) == swept[0]
        assert len(one.columns) - 1 == (across if len(swept) > 1 else 2)
