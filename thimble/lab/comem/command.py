"""Simulate the two servers of CoMem, and show the latencies of its paper beside the simulated ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path

from thimble.agent.errors import UsageError
from thimble.lab.comem.agent_runs import MeanSizes, recorded
from thimble.lab.comem.comem_paper import PAPER_BATCH
from thimble.lab.comem.paper_cells import Assumed, PaperCell, figure_5, of_runs, table_1
from thimble.lab.experiment_flags import COUNTED_MODEL, add_output, whole
from thimble.lab.findings import Findings, ResultTable, publish
from thimble.lab.replay.recorded_replay import counter_of
from thimble.lab.replay.trajectories import read
from thimble.session.parser import Parser

ASSUMED = Assumed()
COMEM_EPILOG = """\
Without FILE: Table 1 and Figure 5. With FILE: recorded runs under each strategy; an assistant message is a call, and
--output and --observation have no effect. docs/results/comem.md says where each number comes from.
"""


def main(arguments: Sequence[str], prog: str) -> None:
    """Simulate, and print tables.

    Raises:
        UsageError: a flag, a file, a prompt without room on its server, or simpy is not installed.
    """
    options = _parser(prog).parse_args(arguments)
    means = MeanSizes(ASSUMED.means.head, options.output, options.observation)
    assumed = Assumed(options.gpus, options.memory_gpus, means, options.summary, options.tool, options.seed)
    if options.files:
        runs = [recorded(run, counter_of(COUNTED_MODEL)) for run in read(options.files)]
        runs = [run for run in runs if run.turns]
        if not runs:
            raise UsageError("no run has a call", "give runs with assistant messages")
        made = list(of_runs(runs, assumed, options.batch, options.k))
    else:
        made = [*table_1(assumed, options.batch, options.k), *figure_5(assumed, options.k)]
    publish(findings(made), options, prog, arguments)


def findings(cells: Sequence[PaperCell]) -> Findings:
    """A table for each part, agent and way to offload; Figure 5 has a line for each batch."""
    parts = [list(of) for _, of in groupby(cells, key=lambda cell: (cell.part, cell.agent, cell.offload))]
    return Findings("The servers of CoMem, simulated", [], [*map(_table, parts)], [*map(asdict, cells)])


def _title(cells: Sequence[PaperCell]) -> str:
    first, batches = cells[0], {cell.batch for cell in cells}
    where = f", {min(batches)} agents" if len(batches) == 1 else ""
    return f"{first.part}, {first.agent}, {'with' if first.offload else 'without'} CPU offload{where}"


def _table(cells: Sequence[PaperCell]) -> ResultTable:
    many = len({cell.batch for cell in cells}) > 1
    columns = ("paper, s", "simulated, s", "paper ×", "simulated ×", "waited, s")
    rows = [
        [
            cell.memory,
            str(cell.batch) if many else f"{cell.calls:.2f}",
            "–" if cell.printed is None else f"{cell.printed:,.0f}",
            f"{cell.simulated:,.0f}",
            "–" if cell.printed_speedup is None else f"{cell.printed_speedup:.2f}",
            f"{cell.speedup:.2f}",
            f"{cell.waited:,.0f}",
        ]
        for cell in cells
    ]
    return ResultTable(_title(cells), ["memory", "agents" if many else "calls", *columns], rows)


def _parser(prog: str) -> Parser:
    parser = Parser(prog, description=__doc__, epilog=COMEM_EPILOG, allow_abbrev=False)
    add = parser.add_argument
    add("files", nargs="*", type=Path, metavar="FILE", help="recorded trajectories, as `thimble lab replay` takes them")

    def number(flag: str, default: float | None, most: int, told: str, least: int = 1) -> None:
        help = f"{told}; default: {'that of the paper' if default is None else f'{default:,}'}"
        add(flag, default=default, type=whole(flag, least, most), metavar="N", help=help)

    number("--batch", PAPER_BATCH, 1024, "agents that work at once, in Table 1 or on FILE")
    number("--k", None, 100, "steps between two summaries")
    number("--gpus", ASSUMED.gpus, 1024, "GPUs of the agent's server")
    number("--memory-gpus", ASSUMED.memory_gpus, 1024, "GPUs of the memory model's server")
    number("--output", ASSUMED.means.output, 100_000, "mean tokens of a reply")
    number("--observation", ASSUMED.means.observation, 100_000, "mean tokens of an observation")
    number("--summary", ASSUMED.summary, 100_000, "tokens of a summary")
    number("--tool", ASSUMED.tool, 10_000, "seconds of the environment between two calls", least=0)
    number("--seed", ASSUMED.seed, 2**31, "of the drawn sizes", least=0)
    add_output(parser)
    return parser
