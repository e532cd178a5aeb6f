"""Find the best setting of a grid, on recorded or simulated runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import fsum
from pathlib import Path

from thimble.agent.budget import read_limit
from thimble.agent.errors import UsageError
from thimble.commands.trajectories import read_trajectories
from thimble.lab.experiment import RAW_AGENT, Rows, group_rows, run_experiment
from thimble.lab.experiment_flags import add_costs, add_lag, whole_number
from thimble.lab.findings import Findings, ResultTable
from thimble.lab.replay.command import Replay, ReplayCase, replay_cases
from thimble.lab.replay.cost_tables import (
    FAULT_COLUMNS,
    FAULTS,
    add_changes,
    comparable_rows,
    describe_runs,
    fault_cells,
)
from thimble.lab.replay.recorded_replay import counter_of
from thimble.lab.simulate.command import MOST_TOKENS, MOST_TURNS, TURN_LIMIT
from thimble.lab.simulate.equal_turns import MeanTurn, make_run
from thimble.lab.statistics import compare_paired, holm, least_shares, percentile_interval, resample_means
from thimble.lab.sweep.grid import Grid, parse_grid
from thimble.lab.table.outcomes import FEW_PAIRS

SIGNIFICANT = 0.05
MEANING = (
    "*: the best of its condition. In brackets: 95 % intervals, by a bootstrap over the runs. p: corrected for all "
    "comparisons (Holm). The best is chosen on the same runs that it is compared on, which flatters it; chosen: the "
    "share of resamples of the runs in which it is the best, ties included."
)


class Sweep(Replay):
    """Try every setting of a grid on recorded or simulated runs, and name the best."""

    epilog = """\
A GRID is a SPEC with values in braces: 'observation-masking:window={0,1,2,5},target={0.2,0.4}'. Quote it, or the shell
expands the braces itself. {1..5} are the numbers from 1 to 5. FILE is as for lab replay.
"""

    def add_flags(self, parser: argparse.ArgumentParser) -> None:
        """Add the flags for runs, grids and conditions."""
        add = parser.add_argument
        add("files", nargs="*", type=Path, metavar="FILE", help="recorded trajectories")
        add("--simulated", type=_mean_turn, metavar="R,A,O",
            help="simulate runs instead: tokens of reasoning, action and observation in each turn")  # fmt: skip
        add("--turns", nargs="+", default=[TURN_LIMIT], type=whole_number("--turns", 1, MOST_TURNS), metavar="N",
            help=f"turns of the simulated runs, one run each; default: {TURN_LIMIT}")  # fmt: skip
        told = "SPECs, with values in braces"
        add("--strategy", nargs="+", action="extend", required=True, metavar="GRID", help=told)
        add("--budget", nargs="+", default=[8_000], type=read_limit, metavar="N", help="or none; default: 8000")
        add_lag(parser, nargs="+", default=[0])
        add_costs(parser)

    def cases(self, options: argparse.Namespace) -> list[ReplayCase]:
        """Every run under every setting of the grids, and under their defaults."""
        if bool(options.files) == bool(options.simulated):
            raise UsageError("give either FILE… or --simulated", "thimble lab sweep --help lists the flags")
        specs = [spec for grid in _grids(options) for spec in (*(spec for _, spec in grid.settings()), grid.default)]
        if options.simulated:
            counter = counter_of(options.model)
            runs = [make_run(options.simulated, turns, counter) for turns in dict.fromkeys(options.turns)]
        else:
            runs = read_trajectories(options.files, options.observations, options.keep_secrets)
        return replay_cases(runs, [RAW_AGENT, *specs], options, options.budget, options.lag)

    def report(self, rows: Rows, options: argparse.Namespace) -> Findings:
        """The runs; maps, all settings, the best of each condition, and the faults at all prices together."""
        if not any(row["calls"] for row in comparable_rows(rows)):
            raise UsageError("no run fits the budget under all of these settings", "give a larger --budget")
        rows = add_changes(rows)
        told = [*dict.fromkeys(map(describe_runs, group_rows(rows, "budget", "lag").values()))]
        conditions = group_rows(comparable_rows(rows), "budget", "lag").values()
        number = min(len(group_rows(group, "run")) for group in conditions)
        if 1 < number < FEW_PAIRS and options.files:
            told.append(f"{number} runs: so few make the intervals too narrow and p too small.")
        tables = [*sweep_tables(make_sheets(rows, _grids(options), apart=bool(options.simulated)))]
        if options.files:
            names = ("strategy", "budget", "lag")
            cells = [
                [spec, *map(_value, at), *fault_cells(own)]
                for (spec, *at), own in group_rows(comparable_rows(rows), *names).items()
            ]
            tables.append(ResultTable("Lost and repeats", (*names, *FAULT_COLUMNS), cells, FAULTS))
        return Findings("Settings of strategies", told, tables, rows, [MEANING])


def _grids(options: argparse.Namespace) -> Sequence[Grid]:
    return list({text: parse_grid(text) for text in options.strategy}.values())


def _mean_turn(text: str) -> MeanTurn:
    sizes = [int(size) for size in text.split(",") if size.isdecimal() and len(size) < 7]
    if len(sizes) != 3 or len(text.split(",")) != 3 or not all(1 <= size <= MOST_TOKENS for size in sizes):
        raise UsageError(f"--simulated {text[:40]} is not valid", "write three sizes in tokens: 100,60,840")
    return MeanTurn(*sizes)


@dataclass(frozen=True, slots=True)
class Cell:
    """A setting of a grid under a condition.

    `values`: the parameters in braces. `condition`: such as the budget, as text. `scores`: for each run, the change of
    the cost against sending everything, in percent.
    """

    grid: Grid
    values: Mapping[str, str]
    condition: Mapping[str, str]
    spec: str
    scores: Sequence[float]

    @property
    def mean(self) -> float:
        """The mean score."""
        return fsum(self.scores) / len(self.scores)

    @property
    def shown(self) -> str:
        """The mean score, formatted."""
        return _change(self.mean)

    @property
    def interval(self) -> str:
        """The 95 % interval of the mean by a bootstrap over the runs, formatted; "" for one run."""
        return _interval(*percentile_interval(resample_means(self.scores)), _change) if len(self.scores) > 1 else ""


Sheet = Sequence[Cell]
"""The cells of a grid under one condition, on the same runs; the last one is its strategy with defaults."""


def make_sheets(rows: Rows, grids: Sequence[Grid], apart: bool = False) -> list[Sheet]:
    """A sheet for each budget, lag, grid and price, and if `apart` also for each run, by its turns.

    If a call of a run cannot fit under one of the settings, no sheet of that budget and lag has the run.
    """
    names = ["budget", *["lag"] * any(row["lag"] for row in rows), *["turns"] * apart]
    made: list[Sheet] = []
    for values, group in group_rows([row for row in comparable_rows(rows) if row["calls"]], *names).items():
        for grid, ((price,), found) in product(grids, group_rows(group, "cached_price").items()):
            condition = dict(zip([*names, "cached price"], map(_value, [*values, price]), strict=True))
            scores = {spec: [row["change"] for row in own] for (spec,), own in group_rows(found, "strategy").items()}
            cells = [
                Cell(grid, dict(zip(grid.axes, at, strict=True)), condition, spec, scores[spec])
                for at, spec in grid.settings()
            ]
            made.append([*cells, Cell(grid, {}, condition, grid.default, scores[grid.default])])
    return made


def sweep_tables(sheets: Sequence[Sheet]) -> Iterator[ResultTable]:
    """All tables."""
    bests = {id(best_of(sheet)) for sheet in sheets}
    groups: dict[str, list[Cell]] = {}
    for *cells, default in sheets:
        groups.setdefault(default.grid.text, []).extend(cells)
    for grid, cells in groups.items():
        yield from _maps(grid, cells, bests)
    yield _make_settings_table(sheets)
    yield _make_best_table(sheets)


def best_of(sheet: Sheet) -> Cell:
    """The first setting with the best mean."""
    return min(sheet[:-1], key=lambda cell: cell.mean)


def _maps(grid: str, cells: Sequence[Cell], bests: set[int]) -> Iterator[ResultTable]:
    """The maps of a grid over the first two names that vary, parameters before conditions; other names split them."""
    points = [({**cell.values, **cell.condition}, cell) for cell in cells]
    swept = [name for name in points[0][0] if len({at[name] for at, _ in points}) > 1]
    if not swept:
        return
    down, across = [*swept, ""][:2]
    maps: dict[str, dict[tuple[str, str], Cell]] = {}
    for at, cell in points:
        rest = ", ".join(f"{name} {value}" for name, value in at.items() if name not in (down, across))
        maps.setdefault(rest, {})[at[down], at.get(across, "")] = cell
    for rest, places in maps.items():
        title = ", ".join(filter(None, [f"change of a run's cost against sending everything, %: {grid}", rest]))
        means = {place: cell.shown + ("*" if id(cell) in bests else " ") for place, cell in places.items()}
        rows, columns = (list(dict.fromkeys(place[at] for place in places)) for at in (0, 1))
        if across:
            names = [f"{down} ↓  {across} →", *columns]
            yield ResultTable(title, names, [[row, *(means[row, column] for column in columns)] for row in rows])
        else:
            intervals = [cell.interval for cell in places.values()]
            yield ResultTable(title, [down, "mean", "95 %"], list(zip(rows, means.values(), intervals, strict=True)))


def _make_settings_table(sheets: Sequence[Sheet]) -> ResultTable:
    """Every setting, and the defaults: a row for each budget, a column for each price."""
    rows: dict[tuple[str, ...], dict[str, str]] = {}
    for cell in (cell for sheet in sheets for cell in sheet):
        at = dict(cell.condition)
        price = at.pop("cached price")
        rows.setdefault((cell.spec, *at.values()), {"setting": cell.spec} | at)[f"cost @{price}"] = cell.shown
    names = list(dict.fromkeys(name for row in rows.values() for name in row))
    return ResultTable(
        "All settings, and the defaults", names, [[row[name] for name in names] for row in rows.values()]
    )


def _make_best_table(sheets: Sequence[Sheet]) -> ResultTable:
    """The best setting of each sheet, and its comparisons with the second best and the default."""
    rivals: list[dict[str, Cell]] = []
    for *cells, default in sheets:
        best = best_of([*cells, default])
        others = sorted((cell for cell in cells if cell.scores != best.scores), key=lambda cell: cell.mean)
        rivals.append(dict(zip(["second"], others, strict=False)))
        rivals[-1] |= {"default": default} if default.spec != best.spec else {}
    pairs = [(best_of(sheet), rival) for sheet, each in zip(sheets, rivals, strict=True) for rival in each.values()]
    found = [compare_paired(best.scores, rival.scores) for best, rival in pairs]
    comparisons = zip(found, holm([one.p for one in found]), strict=True)
    rows = []
    for sheet, each in zip(sheets, rivals, strict=True):
        best, scores = best_of(sheet), [cell.scores for cell in sheet[:-1]]
        several = len(best.scores) > 1
        same = scores.count(best.scores) - 1
        chosen = least_shares(scores)[scores.index(best.scores)]
        setting = f"  {best.spec}{f' and {same} with the same scores' if same else ''}"
        rows.append([", ".join(["cost", *map(" ".join, best.condition.items())]), "", "", ""])
        rows.append([setting, f"{best.shown} {best.interval}".strip(), "", f"chosen {chosen:.0%}" if several else ""])
        for name, rival in each.items():
            of, p = next(comparisons)
            apart = not of.low <= 0 <= of.high and p < SIGNIFICANT
            verdict = "same" if of.low == of.high == 0 else "told apart" if apart else "not told apart"
            told = [f"{p:.4f}", verdict] if several else ["", "one run"]
            ends = _interval(of.low, of.high, _difference) if several else ""
            rows.append([f"  against the {name}, {rival.spec}", f"{_difference(of.difference)} {ends}".strip(), *told])
    return ResultTable("The best", ["setting", "mean, or difference", "p", "verdict"], rows, texts=4)


def _value(value: float | None) -> str:
    """The value of a condition as text."""
    return "none" if value is None else f"{value:,}" if isinstance(value, int) else f"{value:.4g}"


def _change(change: float) -> str:
    return f"{change:+z.1f}".replace("-", "−")


def _difference(difference: float) -> str:
    return f"{difference:+z.2f}".replace("-", "−")


def _interval(low: float, high: float, form: Callable[[float], str]) -> str:
    return f"[{form(low)}, {form(high)}]"


main = partial(run_experiment, Sweep())
