"""Simulate the two servers of CoMem, and show the latencies of its paper beside the simulated ones."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from agent.errors import UsageError
from lab.comem import cells, tables
from lab.comem.page import page
from lab.comem.paper import BATCH
from lab.comem.runs import Means, recorded
from lab.findings import console, print_csv, print_json
from lab.flags import whole
from lab.replay.command import MODEL
from lab.replay.runs import counter_of
from lab.replay.trajectories import read
from lab.report.flag import add_report
from session.parser import Parser

ASSUMED = cells.Assumed()
EPILOG = """\
Without FILE: Table 1 and Figure 5. With FILE: recorded runs under each strategy; an assistant message is a call, and
--output and --observation have no effect. docs/results/comem.md says where each number comes from.
"""


def main(arguments: Sequence[str], prog: str) -> None:
    """Simulate, and print tables.

    Raises:
        UsageError: a flag, a file, a prompt without room on its server, or simpy is not installed.
    """
    options = _parser(prog).parse_args(arguments)
    means = Means(ASSUMED.means.head, options.output, options.observation)
    assumed = cells.Assumed(options.gpus, options.memory_gpus, means, options.summary, options.tool, options.seed)
    if options.files:
        runs = [recorded(run, counter_of(MODEL)) for run in read(options.files)]
        runs = [run for run in runs if run.turns]
        if not runs:
            raise UsageError("no run has a call", "give runs with assistant messages")
        made = list(cells.of_runs(runs, assumed, options.batch, options.k))
    else:
        made = [*cells.table(assumed, options.batch, options.k), *cells.figure(assumed, options.k)]
    if options.report:
        page(made, shlex.join([*prog.split(), *arguments])).write(options.report)
    if options.json:
        print_json(map(asdict, made))
    elif options.csv:
        print_csv([*map(asdict, made)])
    else:
        tables.show(console(), made)


def _parser(prog: str) -> Parser:
    parser = Parser(prog, description=__doc__, epilog=EPILOG, allow_abbrev=False)
    add = parser.add_argument
    add("files", nargs="*", type=Path, metavar="FILE", help="recorded trajectories, as `thimble lab replay` takes them")

    def number(flag: str, default: float | None, most: int, told: str, least: int = 1) -> None:
        help = f"{told}; default: {'that of the paper' if default is None else f'{default:,}'}"
        add(flag, default=default, type=whole(flag, least, most), metavar="N", help=help)

    number("--batch", BATCH, 1024, "agents that work at once, in Table 1 or on FILE")
    number("--k", None, 100, "steps between two summaries")
    number("--gpus", ASSUMED.gpus, 1024, "GPUs of the agent's server")
    number("--memory-gpus", ASSUMED.memory_gpus, 1024, "GPUs of the memory model's server")
    number("--output", ASSUMED.means.output, 100_000, "mean tokens of a reply")
    number("--observation", ASSUMED.means.observation, 100_000, "mean tokens of an observation")
    number("--summary", ASSUMED.summary, 100_000, "tokens of a summary")
    number("--tool", ASSUMED.tool, 10_000, "seconds of the environment between two calls", least=0)
    number("--seed", ASSUMED.seed, 2**31, "of the drawn sizes", least=0)
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="the cells as a JSON list")
    shown.add_argument("--csv", action="store_true", help="a line for each cell")
    add_report(parser)
    return parser
