"""The best setting of a grid, on recorded or simulated runs."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from thimble.agent.budget import read_limit
from thimble.agent.errors import UsageError
from thimble.lab.experiment import RAW_AGENT, Rows, by, run_experiment
from thimble.lab.experiment_flags import add_costs, add_lag, whole
from thimble.lab.findings import ResultTable
from thimble.lab.replay.command import Replay, ReplayCase, replay_cases
from thimble.lab.replay.cost_tables import described, sent
from thimble.lab.replay.recorded_replay import counter_of
from thimble.lab.replay.trajectories import read
from thimble.lab.simulate.command import MOST_TOKENS, MOST_TURNS, TURN_LIMIT
from thimble.lab.simulate.equal_turns import MeanTurn, run
from thimble.lab.sweep.grid import Grid, parse_grid
from thimble.lab.sweep.sweep_tables import MEANING, sheets, sweep_tables
from thimble.lab.table.outcomes import FEW_PAIRS


class Sweep(Replay):
    """Try every setting of a grid on recorded or simulated runs, and name the best."""

    title = "Settings of strategies"
    epilog = """\
A GRID is a SPEC with values in braces: 'observation-masking:window={0,1,2,5},target={0.2,0.4}'. Put it in quotes:
without them a shell takes the braces for its own. {1..5} are the numbers from 1 to 5. FILE is as for lab replay.
"""

    def add_flags(self, parser: argparse.ArgumentParser) -> None:
        """The runs, the grids, and the conditions."""
        add = parser.add_argument
        add("files", nargs="*", type=Path, metavar="FILE", help="recorded trajectories")
        add("--simulated", type=_mean_turn, metavar="R,A,O",
            help="simulated runs instead: tokens of reasoning, action and observation of each turn")  # fmt: skip
        add("--turns", nargs="+", default=[TURN_LIMIT], type=whole("--turns", 1, MOST_TURNS), metavar="N",
            help=f"turns of the simulated runs, one run each; default: {TURN_LIMIT}")  # fmt: skip
        told = "SPECs, with values in braces"
        add("--strategy", nargs="+", action="extend", required=True, metavar="GRID", help=told)
        add("--budget", nargs="+", default=[8_000], type=read_limit, metavar="N", help="or none; default: 8000")
        add_lag(parser, nargs="+", default=[0])
        add_costs(parser)

    def cases(self, options: argparse.Namespace) -> list[ReplayCase]:
        """Every run under every setting of the grids, and under their defaults."""
        if bool(options.files) == bool(options.simulated):
            raise UsageError("give FILE… or --simulated, one of them", "thimble lab sweep --help lists the flags")
        specs = [spec for grid in _grids(options) for spec in (*(spec for _, spec in grid.settings()), grid.default)]
        if options.simulated:
            counter = counter_of(options.model)
            runs = [run(options.simulated, turns, counter) for turns in dict.fromkeys(options.turns)]
        else:
            runs = read(options.files, options.observations)
        return replay_cases(runs, [RAW_AGENT, *specs], options, options.budget, options.lag)

    def derive(self, rows: Rows, options: argparse.Namespace) -> Rows:
        """The rows of a replay."""
        if not any(row["calls"] for row in sent(rows)):
            raise UsageError("no run can be sent under all of these settings", "give a larger --budget")
        return super().derive(rows, options)

    def headline(self, rows: Rows, options: argparse.Namespace) -> Iterator[str]:
        """What the runs are, under each budget."""
        yield from dict.fromkeys(map(described, by(rows, "budget", "lag").values()))
        number = (
            1 if options.simulated else min(len(by(group, "run")) for group in by(sent(rows), "budget", "lag").values())
        )
        if 1 < number < FEW_PAIRS:
            yield f"{number} runs: so few make the intervals too narrow and p too small."

    def tables(self, rows: Rows, options: argparse.Namespace) -> Iterable[ResultTable]:
        """Maps, all settings, and the best of each condition."""
        return sweep_tables(sheets(rows, _grids(options), apart=bool(options.simulated)))

    def notes(self, rows: Rows, options: argparse.Namespace) -> list[str]:
        """How to read the best."""
        return [MEANING]

    def lines(self, rows: Rows, options: argparse.Namespace) -> dict[str, Sequence[float]]:
        """None: the settings are too many."""
        return {}


def _grids(options: argparse.Namespace) -> Sequence[Grid]:
    return list({text: parse_grid(text) for text in options.strategy}.values())


def _mean_turn(text: str) -> MeanTurn:
    sizes = [int(size) for size in text.split(",") if size.isdecimal() and len(size) < 7]
    if len(sizes) != 3 or len(text.split(",")) != 3 or not all(1 <= size <= MOST_TOKENS for size in sizes):
        raise UsageError(f"--simulated {text[:40]} is not possible", "write three sizes in tokens: 100,60,840")
    return MeanTurn(*sizes)


def main(arguments: Sequence[str], prog: str) -> None:
    """Sweep, and publish. Raises as `run_experiment` does."""
    run_experiment(Sweep(), arguments, prog)
