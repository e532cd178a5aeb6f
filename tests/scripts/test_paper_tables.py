"""The tables of the paper: printed cells beside recomputed ones, and the errors."""

from __future__ import annotations

import csv
import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.paper_tables.__main__ import main
from scripts.paper_tables.cells import DIFFERS, ROUNDED, SAME, WITHIN, agreement
from scripts.paper_tables.figures import ROW_TABLES
from scripts.paper_tables.printed import COST, MASKING, NUMBER, RAW, SOLVED, SUMMARY, TABLES, TURNS
from scripts.paper_tables.published import CODER, EXPERIMENTS, FIFTY, OPENHANDS
from scripts.paper_tables.recomputed import Figure, change
from tests.support.paths import ROOT
from thimble.agent.errors import UsageError
from thimble.lab.statistics import compare_paired

PUBLISHED = os.environ.get("THIMBLE_PUBLISHED_ROWS", "")
"""The published rows, which are not part of the project; what needs them is skipped without."""

FIGURES = ROOT / "docs" / "results" / "figures"

INSTANCES = [f"i{number}" for number in range(12)]
UNPUBLISHED = ("Gemini 2.5 Flash", SUMMARY, "i3")
Published = list[dict[str, Any]]


def drawn() -> Iterator[dict[str, Any]]:
    """Rows in the form of the published ones, all made up."""
    lot = Random(3)
    for model, experiments in EXPERIMENTS.items():
        for strategy, experiment in experiments.items():
            for name in INSTANCES[: 4 if model == FIFTY else 12]:
                if (model, strategy, name) != UNPUBLISHED:
                    yield {
                        "experiment": experiment,
                        "instance_id": name,
                        "cost": lot.random() * (3 if strategy == RAW else 1),
                        "summary_cost": lot.random() / 10 if strategy == SUMMARY else 0.0,
                        "turn_count": lot.randrange(1, 9),
                        "outcome": lot.randrange(2),
                        "scaffold": "openhands" if "OpenHands" in model else "sweagent",
                        "mean_reasoning_tokens": 0,
                    }


def write(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return path


def said(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    main([str(argument) for argument in arguments])
    return capsys.readouterr().out


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Published]:
    rows = [*drawn()]
    return write(tmp_path_factory.mktemp("rows") / "published.csv", rows), rows


def rows_of(published: Published, model: str, strategy: str) -> Published:
    return [row for row in published if row["experiment"] == EXPERIMENTS[model][strategy]]


def cell(capsys: pytest.CaptureFixture[str], path: Path, table: str, *key: str) -> dict[str, str]:
    found = json.loads(said(capsys, path, "--table", table, "--json"))
    (one,) = (one for one in found if (one["model"], one["strategy"], one["column"]) == key)
    return one


# --- the paper: what is printed ---------------------------------------------------------------------------------------


def test_tables_1_3_and_4_print_the_same_means_and_marks() -> None:
    first, third, fourth = (TABLES[name].cells() for name in "134")
    assert first.keys() == third.keys()
    for key, printed in first.items():
        of, full = NUMBER.findall(printed), NUMBER.findall(third[key])
        up, down = (abs(float(bound)) for bound in full[1:3])
        assert (of[0], of[2:]) == (full[0], full[3:])
        assert printed.endswith("†") == third[key].endswith("†")
        assert abs((up + down) / 2 - float(of[1])) <= 0.5 * 0.1 ** len(of[1].partition(".")[2]) + 1e-9
    for (model, strategy, column), printed in fourth.items():
        key = SOLVED if "solve" in column else COST
        of, raw = (float(NUMBER.findall(first[model, name, key])[0]) for name in (strategy, RAW))
        assert float(NUMBER.findall(printed)[0]) == pytest.approx(of - raw, abs=0.011)
        assert printed.endswith("†") == first[model, strategy, key].endswith("†")
        assert printed.endswith("†") == (float(NUMBER.findall(printed)[3]) < 0.05)


# --- the paper: cells -------------------------------------------------------------------------------------------------

printed_numbers = st.tuples(st.sampled_from(["", "+"]), st.floats(-99, 99), st.integers(1, 4))


@given(st.lists(printed_numbers, min_size=1, max_size=4))
def test_a_cell_that_is_printed_from_its_figures_is_the_same(numbers: list[tuple[str, float, int]]) -> None:
    printed = " [".join(format(value, f"{sign}z.{decimals}f") for sign, value, decimals in numbers)
    figures = [Figure(value, value, value) for _, value, _ in numbers]
    assert agreement(printed, figures) == (printed, SAME, "")


@pytest.mark.parametrize(
    ("printed", "figure", "verdict"),
    [
        ("0.25", Figure(0.245, 0.245, 0.245), SAME),
        ("0.25", Figure(0.255, 0.255, 0.255), SAME),
        ("0.25", Figure(0.256, 0.256, 0.256), DIFFERS),
        ("0.25", Figure(0.30, 0.25, 0.36), WITHIN),
        ("0.25", Figure(0.30, 0.254, 0.36), WITHIN),
        ("0.25", Figure(0.30, 0.256, 0.36), DIFFERS),
        ("0.25", Figure(0.30, 0.30, 0.30, own=0.2501), ROUNDED),
        ("0.25", Figure(0.30, 0.30, 0.30, own=0.27), DIFFERS),
    ],
)
def test_when_a_number_agrees(printed: str, figure: Figure, verdict: str) -> None:
    assert agreement(printed, [figure])[1] == verdict


@pytest.mark.parametrize(
    ("printed", "p", "found"),
    [
        ("1.0 †", Figure(0.04, 0.03, 0.05), ("1.0 †", SAME, "")),
        ("1.0", Figure(0.04, 0.03, 0.06), ("1.0 †", WITHIN, "p is 0.0400")),
        ("1.0 †", Figure(0.2, 0.1, 0.3), ("1.0", DIFFERS, "p is 0.2000")),
    ],
)
def test_the_mark_is_a_figure_too(printed: str, p: Figure, found: tuple[str, str, str]) -> None:
    assert agreement(printed, [Figure(1, 1, 1)], p) == found


def test_a_cell_says_what_the_rows_say(published: tuple[Path, Published], capsys: pytest.CaptureFixture[str]) -> None:
    path, rows = published
    raw, summary = (rows_of(rows, "Qwen3-32B", strategy) for strategy in (RAW, SUMMARY))
    total = [row["cost"] + row["summary_cost"] for row in summary]
    found = compare_paired(total, [row["cost"] for row in raw])
    assert cell(capsys, path, "4", "Qwen3-32B", SUMMARY, "Δ cost, $")["recomputed"] == (
        f"{found.difference:.4f} [{found.low:.4f}, {found.high:.4f}] {found.p:.4f}{' †' * (found.p < 0.05)}"
    )
    solved = [100 * row["outcome"] for row in summary], [100 * row["outcome"] for row in raw]
    change = 100 * (mean(solved[0]) / mean(solved[1]) - 1)
    assert re.fullmatch(
        rf"{mean(solved[0]):.1f} ± \d+\.\d \({re.escape(f'{change:z.1f}')}%\)( †)?",
        cell(capsys, path, "1", "Qwen3-32B", SUMMARY, SOLVED)["recomputed"],
    )
    share = 100 * sum(row["summary_cost"] for row in summary) / sum(total)
    assert cell(capsys, path, "2", "Qwen3-32B", SUMMARY, "share, %")["recomputed"] == f"{share:.2f}"


def test_openhands_counts_the_summaries_in_the_cost(
    published: tuple[Path, Published], capsys: pytest.CaptureFixture[str]
) -> None:
    path, rows = published
    costs = [row["cost"] for row in rows_of(rows, OPENHANDS, SUMMARY)]
    found = cell(capsys, path, "5", OPENHANDS, SUMMARY, COST)["recomputed"]
    assert found.startswith(f"{mean(costs):.2f} (")


def test_a_row_that_is_not_published_is_named_as_the_reason(
    published: tuple[Path, Published], capsys: pytest.CaptureFixture[str]
) -> None:
    path, rows = published
    model, strategy, _ = UNPUBLISHED
    of, raw = ({row["instance_id"]: row for row in rows_of(rows, model, name)} for name in (strategy, RAW))
    difference = mean(row["cost"] + row["summary_cost"] - raw[name]["cost"] for name, row in of.items())
    rest = 12 * -0.1725 - 11 * difference
    found = cell(capsys, path, "4", model, strategy, "Δ cost, $")
    assert found["reason"] == f"11 of 12 pairs are published; print holds if the others have {rest:.2f} $ each"
    unsolved = sum(row["outcome"] for row in of.values()) - sum(row["outcome"] for row in raw.values())
    solved = cell(capsys, path, "4", model, strategy, "Δ solve rate, points")["recomputed"]
    assert solved.startswith(f"{100 * unsolved / 12:z.1f} [")


def test_where_the_papers_cannot_be_right(
    published: tuple[Path, Published], capsys: pytest.CaptureFixture[str]
) -> None:
    path, _ = published
    share = cell(capsys, path, "2", "Qwen3-Coder 480B", SUMMARY, "share, %")
    assert share["reason"].endswith("6.86 %; 7.20 % is its share of 0.61, the cost of Observation Masking")
    change = cell(capsys, path, "3", "Qwen3-32B (thinking)", SUMMARY, SOLVED)
    assert "24.8 against 23.0, as printed, is +7.8 %" in change["reason"]
    assert cell(capsys, path, "hybrid", FIFTY, "Hybrid", SOLVED)["reason"] == "57.4 % of 4 instances is 2.3 instances"
    assert "Table 1" in cell(capsys, path, "hybrid", FIFTY, RAW, SOLVED)["reason"]


@pytest.mark.parametrize(
    ("value", "base", "printed", "verdict", "reason"),
    [
        (59.9, 52.0, "+15", SAME, ""),
        (59.9, 52.0, "+13", DIFFERS, "59.9 against 52.0 is +15.2 %; +13 % is the difference in percent of the larger"),
        (43.0, 49.9, "-14", SAME, ""),
        (70.1, 58.5, "+15", DIFFERS, "70.1 against 58.5 is +19.8 %"),
    ],
)
def test_a_change_that_is_taken_of_the_wrong_one(
    value: float, base: float, printed: str, verdict: str, reason: str
) -> None:
    _, found, why = agreement(printed, [change(value, base, printed, "", "")])
    assert (found, why.removesuffix(" of the two")) == (verdict, reason)


def test_every_cell_in_every_form(published: tuple[Path, Published], capsys: pytest.CaptureFixture[str]) -> None:
    path, _ = published
    every = json.loads(said(capsys, path, "--json"))
    assert {one["table"] for one in every} == {*TABLES, *ROW_TABLES}
    assert len([one for one in every if one["printed"]]) == sum(len(table.cells()) for table in TABLES.values())
    fourth, hybrid = ([one for one in every if one["table"] == table] for table in ("4", "hybrid"))
    assert [*csv.DictReader(said(capsys, path, "--csv", "--table", "4").splitlines())] == fourth
    pages = [said(capsys, path, "--table", table, "--markdown") for table in ("4", "hybrid")]
    for page, cells in zip(pages, (fourth, hybrid), strict=True):
        for one in cells:
            assert f"| {one['printed']} | {one['recomputed']} | {one['verdict']} | {one['reason']} |" in page
    assert "Holm's correction for 20 comparisons" in pages[0]
    assert "Hybrid against Observation Masking on these 4 instances" in pages[1]


def test_published_rows_that_are_not_whole(published: tuple[Path, Published], tmp_path: Path) -> None:
    _, rows = published
    less = write(tmp_path / "less.csv", [row for row in rows if not row["experiment"].startswith("gemini_2.5_flash-")])
    with pytest.raises(UsageError, match=r"no rows of Gemini 2\.5 Flash, Raw Agent"):
        main([str(less)])
    with pytest.raises(UsageError, match=r"line \d+: no table has the experiment another"):
        main([str(write(tmp_path / "more.csv", [*rows, {**rows[0], "experiment": "another"}]))])
    with pytest.raises(UsageError, match=r"line \d+: this instance is there twice"):
        main([str(write(tmp_path / "twice.csv", [*rows, rows[0]]))])
    empty = tmp_path / "empty.csv"
    empty.write_text("experiment,scaffold\n")
    with pytest.raises(UsageError, match="there is no column instance_id, cost"):
        main([str(empty)])


# --- the figures ------------------------------------------------------------------------------------------------------


def test_every_experiment_has_a_row_in_a_table(
    published: tuple[Path, Published], capsys: pytest.CaptureFixture[str]
) -> None:
    path, rows = published
    every = json.loads(said(capsys, path, "--json"))
    listed = {
        (one["model"], one["strategy"], one["column"]): one["recomputed"]
        for one in every
        if one["table"] == "experiments"
    }
    assert {row["experiment"] for row in rows} <= {*listed.values()}
    for (model, strategy, column), tables in listed.items():
        if column == "has a row in":
            has = {one["table"] for one in every if (one["model"], one["strategy"]) == (model, strategy)}
            assert tables
            assert {*tables.split(", ")} == has - {"experiments"}


def test_a_row_says_what_the_rows_say(published: tuple[Path, Published], capsys: pytest.CaptureFixture[str]) -> None:
    path, rows = published
    raw, masked = (rows_of(rows, CODER, strategy) for strategy in (RAW, MASKING))
    turns, base = ([row["turn_count"] for row in of] for of in (masked, raw))
    found = compare_paired(turns, base)
    told = {
        TURNS: f"{mean(turns):.1f}",
        "Δ turns, %": f"{100 * (mean(turns) / mean(base) - 1):+.1f}",
        "Δ turns": f"{found.difference:+.1f} [{found.low:+.1f}, {found.high:+.1f}], p {found.p:.4f}",
        "longer, %": f"{100 * mean(a > b for a, b in zip(turns, base, strict=True)):.1f}",
        "shorter, %": f"{100 * mean(a < b for a, b in zip(turns, base, strict=True)):.1f}",
    }
    every = json.loads(said(capsys, path, "--table", "figure-4", "--json"))
    of_coder = {(one["strategy"], one["column"]): one["recomputed"] for one in every if one["model"] == CODER}
    for column, text in told.items():
        assert of_coder[MASKING, column] == text
        assert bool(of_coder[RAW, column]) == (column == TURNS)


def test_summaries_are_compared_with_masking_directly(
    published: tuple[Path, Published], capsys: pytest.CaptureFixture[str]
) -> None:
    path, rows = published
    mask, summed = (rows_of(rows, CODER, strategy) for strategy in (MASKING, SUMMARY))
    every = json.loads(said(capsys, path, "--table", "direct", "--json"))
    of_coder = {one["column"]: one["recomputed"] for one in every if one["model"] == CODER}
    with_summaries = [row["cost"] + row["summary_cost"] for row in summed]
    for column, ours in (
        ("Δ cost, $", with_summaries),
        ("Δ cost without summaries, $", [row["cost"] for row in summed]),
    ):
        found = compare_paired(ours, [row["cost"] for row in mask])
        assert of_coder[column] == f"{found.difference:+z.2f} [{found.low:+z.2f}, {found.high:+z.2f}], p {found.p:.4f}"
    assert "Holm's correction for 15 comparisons" in said(capsys, path, "--table", "direct", "--markdown")


def test_the_frontier_is_what_no_other_strategy_beats(
    published: tuple[Path, Published], capsys: pytest.CaptureFixture[str]
) -> None:
    path, rows = published
    means = {
        strategy: (mean(row["cost"] for row in of), -mean(row["outcome"] for row in of))
        for strategy in EXPERIMENTS[OPENHANDS]
        if (of := rows_of(rows, OPENHANDS, strategy))
    }
    best = {
        strategy
        for strategy, own in means.items()
        if not any(other != own and other[0] <= own[0] and other[1] <= own[1] for other in means.values())
    }
    found = json.loads(said(capsys, path, "--table", "figure-10", "--json"))
    assert {
        one["strategy"] for one in found if (one["column"], one["recomputed"]) == ("on the frontier", "yes")
    } == best


def test_the_pictures_show_the_means_and_the_boxes(
    published: tuple[Path, Published], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, rows = published
    page = tmp_path / "page.html"
    said(capsys, path, "--pictures", tmp_path / "new", "--report", page)
    drawn = [(tmp_path / "new" / f"{name}.svg").read_text() for name in ("figure-2", "figure-4", "figure-10")]
    assert all(picture.split(">", 1)[1] in page.read_text() for picture in drawn)
    assert [picture.count("<circle") for picture in drawn] == [15, 0, 11]
    assert drawn[1].count("★") == 15
    costs = {name: mean(row["cost"] for row in rows_of(rows, OPENHANDS, name)) for name in EXPERIMENTS[OPENHANDS]}
    place = 600 * (costs[SUMMARY] - min(costs.values())) / (max(costs.values()) - min(costs.values()))
    assert f'<circle cx="{place:.1f}"' in drawn[2]


def test_the_pictures_of_the_page_are_those_of_the_published_rows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not PUBLISHED:
        pytest.skip("THIMBLE_PUBLISHED_ROWS names no rows")
    said(capsys, PUBLISHED, "--table", "5", "--pictures", tmp_path)
    for picture in tmp_path.iterdir():
        assert picture.read_text() == (FIGURES / picture.name).read_text()
