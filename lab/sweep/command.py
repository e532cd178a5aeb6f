"""Try every setting of a grid on recorded runs, simulated ones or questions, and name the best."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

from agent.budget import LEAST_BUDGET, MOST_BUDGET, UNLIMITED, Prices, read_limit
from agent.errors import UsageError
from lab import findings as forms
from lab.flags import whole
from lab.replay import command as replay
from lab.replay.runs import counter_of
from lab.replay.trajectories import Trajectory, read
from lab.report.flag import add_report
from lab.simulate.command import MOST_TOKENS, MOST_TURNS, TURNS
from lab.simulate.synthetic import Means, run
from lab.sweep import records
from lab.sweep import sweep_tables as tables
from lab.sweep.grid import Grid, parse_grid
from lab.sweep.sheet import Sheet, judged
from lab.table.rows import FEW
from session.parser import Parser

BUDGET = 8_000
MOST = 10_000
EPILOG = """\
A GRID is a SPEC with values in braces: 'observation-masking:window={0,1,2,5},target={0.2,0.4}'. Put it in quotes:
without them a shell takes the braces for its own. {1..5} are the numbers from 1 to 5. FILE is as for lab replay.
"""


def main(arguments: Sequence[str], prog: str) -> None:
    """Sweep, and print maps, all settings and the best of each condition.

    Raises:
        UsageError: a flag, a grid, a setting that is not legal, a file, or a strategy that fails.
    """
    options = _parser(prog).parse_args(arguments)
    if sum(map(bool, (options.files, options.simulated, options.questions))) != 1:
        raise UsageError("give FILE…, --simulated or --questions, one of them", f"{prog} --help lists the flags")
    grids = list({text: parse_grid(text) for text in options.strategy}.values())
    prices = replay.card(options.price)
    _check_size(sum(grid.size + 1 for grid in grids), "settings", options.most)
    specs = _specs(grids)
    for spec in specs:
        replay.decides_by_price(spec, options.model)  # raises if it is not legal
    sheets, told = (_asked if options.questions else _replayed)(grids, specs, prices, options)
    if not sheets:
        raise UsageError("no run can be sent under all of these settings", "give a larger --budget")
    _show(sheets, told, shlex.join([*prog.split(), *arguments]), options)


def _parser(prog: str) -> Parser:
    parser = Parser(prog, description=__doc__, epilog=EPILOG, allow_abbrev=False)
    add = parser.add_argument
    add("files", nargs="*", type=Path, metavar="FILE", help="recorded trajectories")
    add("--simulated", type=_means, metavar="R,A,O",
        help="simulated runs instead: tokens of reasoning, action and observation of each turn")  # fmt: skip
    add("--turns", nargs="+", default=[TURNS], type=whole("--turns", 1, MOST_TURNS), metavar="N",
        help=f"turns of the simulated runs, one run each; default: {TURNS}")  # fmt: skip
    add(
        "--questions",
        action="store_true",
        help="ask the built-in reader all dialogues instead; of the flags below, --budget and --price count then",
    )
    add("--strategy", nargs="+", action="extend", required=True, metavar="GRID", help="SPECs, with values in braces")
    add("--budget", nargs="+", default=[BUDGET], type=read_limit, metavar="N", help=f"or none; default: {BUDGET}")
    add("--lag", nargs="+", default=[0], type=replay.lag, metavar="N",
        help="calls that pass before a summary in the background is there; default: 0")  # fmt: skip
    replay.add_costs(parser)
    add("--jobs", type=replay.processes, metavar="N", help="processes that work at once; default: one for each core")
    add("--most", default=MOST, type=int, metavar="N", help=f"the most replays or dialogues; default: {MOST}")
    forms.add_forms(
        parser,
        json="a JSON list: an object for each grid and condition, with the scores of each run",
        csv="a line for each setting and condition",
        markdown="the tables in Markdown",
    )
    add_report(parser)
    return parser


def _means(text: str) -> Means:
    sizes = [int(size) for size in text.split(",") if size.isdecimal() and len(size) < 7]
    if len(sizes) != 3 or len(text.split(",")) != 3 or not all(1 <= size <= MOST_TOKENS for size in sizes):
        raise UsageError(f"--simulated {text[:40]} is not possible", "write three sizes in tokens: 100,60,840")
    return Means(*sizes)


def _specs(grids: Sequence[Grid]) -> list[str]:
    """Every SPEC of the grids, and of their defaults, once."""
    every = (spec for grid in grids for spec in (*(spec for _, spec in grid.settings()), grid.default))
    return list(dict.fromkeys(every))


def _check_size(number: int, what: str, most: int) -> None:
    if number > most:
        raise UsageError(f"these are {number:,} {what}", f"give fewer values or runs, or --most {number}")


def _replayed(
    grids: Sequence[Grid], specs: Sequence[str], prices: Sequence[Prices], options: argparse.Namespace
) -> tuple[list[Sheet], list[str]]:
    from lab.sweep.replayed import sheets

    runs = _runs(options)
    to_do = []
    for budget, lag in product(dict.fromkeys(options.budget), dict.fromkeys(options.lag)):
        one = argparse.Namespace(**vars(options) | {"budget": budget, "lag": lag})
        to_do += replay.jobs(len(runs), specs, prices, one)
    _check_size(len(to_do), "replays", options.most)
    return sheets(grids, replay.replayed(runs, to_do, options.jobs), runs, prices, apart=bool(options.simulated))


def _runs(options: argparse.Namespace) -> list[Trajectory]:
    if not options.simulated:
        return read(options.files)
    counter = counter_of(options.model)
    return [run(options.simulated, turns, counter) for turns in dict.fromkeys(options.turns)]


def _asked(
    grids: Sequence[Grid], specs: Sequence[str], prices: Sequence[Prices], options: argparse.Namespace
) -> tuple[list[Sheet], list[str]]:
    from corpus.questions import load
    from lab.questions import Setting, ask_all
    from lab.sweep.asked import sheets

    budgets = list(dict.fromkeys(options.budget))
    if UNLIMITED in budgets or not all(LEAST_BUDGET <= budget <= MOST_BUDGET for budget in budgets):
        raise UsageError("--budget is not possible with --questions", f"it takes {LEAST_BUDGET} to {MOST_BUDGET}")
    dialogues = [one for one in load().questions if one.kind == "dialogue"]
    jobs = [(one, Setting(spec, budget)) for budget, spec, one in product(budgets, specs, dialogues)]
    _check_size(len(jobs), "dialogues", options.most)
    told = f"{len(dialogues)} dialogues with the built-in reader."
    return sheets(grids, ask_all(jobs), budgets, prices), [told]


def _few(sheets: Sequence[Sheet]) -> Iterator[str]:
    number = min(len(sheet.runs) for sheet in sheets)
    if 1 < number < FEW:
        yield f"{number} runs: so few make the intervals too narrow and p too small."


def _show(sheets: Sequence[Sheet], told: Sequence[str], command: str, options: argparse.Namespace) -> None:
    bests = judged(sheets)
    told = [*told, *_few(sheets)]
    if options.report:
        from lab.sweep.page import page

        page(sheets, bests, command, " ".join(told)).write(options.report)
    if options.json:
        forms.print_json(records.objects(bests))
    elif options.csv:
        forms.print_csv(list(records.lines(bests)))
    else:
        made = list(tables.shown(sheets, bests))
        if options.markdown:
            print(*tables.markdown(told, made), sep="\n")
        else:
            tables.show(forms.console(), told, made)
