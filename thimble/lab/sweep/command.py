"""Try every setting of a grid on recorded or simulated runs, and name the best."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from thimble.agent.budget import Prices, read_limit
from thimble.agent.errors import UsageError
from thimble.lab.experiment_flags import add_costs, add_jobs, add_lag, add_output, price_cards, whole
from thimble.lab.findings import publish
from thimble.lab.replay.command import replay_jobs
from thimble.lab.replay.recorded_replay import counter_of, decides_by_price
from thimble.lab.replay.trajectories import Trajectory, read
from thimble.lab.replay.work import replayed
from thimble.lab.simulate.command import MOST_TOKENS, MOST_TURNS, TURN_LIMIT
from thimble.lab.simulate.equal_turns import MeanTurn, run
from thimble.lab.sweep.grid import Grid, parse_grid
from thimble.lab.sweep.run_sheets import run_sheets
from thimble.lab.sweep.sheet import Sheet, judged
from thimble.lab.sweep.sweep_findings import findings
from thimble.lab.table.outcomes import FEW_PAIRS
from thimble.session.parser import Parser

SWEEP_EPILOG = """\
A GRID is a SPEC with values in braces: 'observation-masking:window={0,1,2,5},target={0.2,0.4}'. Put it in quotes:
without them a shell takes the braces for its own. {1..5} are the numbers from 1 to 5. FILE is as for lab replay.
"""


def main(arguments: Sequence[str], prog: str) -> None:
    """Sweep, and print maps, all settings and the best of each condition.

    Raises:
        UsageError: a flag, a grid, a setting that is not legal, a file, or a strategy that fails.
    """
    options = _parser(prog).parse_args(arguments)
    if bool(options.files) == bool(options.simulated):
        raise UsageError("give FILE… or --simulated, one of them", f"{prog} --help lists the flags")
    grids = list({text: parse_grid(text) for text in options.strategy}.values())
    prices = price_cards(options.price)
    specs = _specs(grids)
    for spec in specs:
        decides_by_price(spec, options.model)  # raises if it is not legal
    sheets, told = _replayed(grids, specs, prices, options)
    if not sheets:
        raise UsageError("no run can be sent under all of these settings", "give a larger --budget")
    publish(findings(sheets, judged(sheets), [*told, *_few(sheets)]), options, prog, arguments)


def _parser(prog: str) -> Parser:
    parser = Parser(prog, description=__doc__, epilog=SWEEP_EPILOG, allow_abbrev=False)
    add = parser.add_argument
    add("files", nargs="*", type=Path, metavar="FILE", help="recorded trajectories")
    add("--simulated", type=_mean_turn, metavar="R,A,O",
        help="simulated runs instead: tokens of reasoning, action and observation of each turn")  # fmt: skip
    add("--turns", nargs="+", default=[TURN_LIMIT], type=whole("--turns", 1, MOST_TURNS), metavar="N",
        help=f"turns of the simulated runs, one run each; default: {TURN_LIMIT}")  # fmt: skip
    add("--strategy", nargs="+", action="extend", required=True, metavar="GRID", help="SPECs, with values in braces")
    add("--budget", nargs="+", default=[8_000], type=read_limit, metavar="N", help="or none; default: 8000")
    add_lag(parser, nargs="+", default=[0])
    add_costs(parser)
    parser.set_defaults(act=None)
    add_jobs(parser)
    add_output(parser)
    return parser


def _mean_turn(text: str) -> MeanTurn:
    sizes = [int(size) for size in text.split(",") if size.isdecimal() and len(size) < 7]
    if len(sizes) != 3 or len(text.split(",")) != 3 or not all(1 <= size <= MOST_TOKENS for size in sizes):
        raise UsageError(f"--simulated {text[:40]} is not possible", "write three sizes in tokens: 100,60,840")
    return MeanTurn(*sizes)


def _specs(grids: Sequence[Grid]) -> list[str]:
    """Every SPEC of the grids, and of their defaults, once."""
    every = (spec for grid in grids for spec in (*(spec for _, spec in grid.settings()), grid.default))
    return list(dict.fromkeys(every))


def _replayed(
    grids: Sequence[Grid], specs: Sequence[str], prices: Sequence[Prices], options: argparse.Namespace
) -> tuple[list[Sheet], list[str]]:
    runs = _runs(options)
    jobs = [
        job
        for limit, lag in product(dict.fromkeys(options.budget), dict.fromkeys(options.lag))
        for job in replay_jobs(len(runs), specs, prices, options, limit, lag)
    ]
    return run_sheets(grids, replayed(runs, jobs, options.jobs), runs, prices, apart=bool(options.simulated))


def _runs(options: argparse.Namespace) -> list[Trajectory]:
    if not options.simulated:
        return read(options.files, options.observations)
    counter = counter_of(options.model)
    return [run(options.simulated, turns, counter) for turns in dict.fromkeys(options.turns)]


def _few(sheets: Sequence[Sheet]) -> Iterator[str]:
    number = min(len(sheet.runs) for sheet in sheets)
    if 1 < number < FEW_PAIRS:
        yield f"{number} runs: so few make the intervals too narrow and p too small."
