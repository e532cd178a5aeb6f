"""Simulate the two servers of CoMem, and compare the latencies with its paper's."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from thimble.agent.errors import UsageError
from thimble.commands.trajectories import read_trajectories
from thimble.lab.comem.agent_runs import AgentRun, MeanSizes, draw_runs, recorded_sizes
from thimble.lab.comem.comem_paper import FIGURE_5, PAPER_BATCH, PAPER_TABLE, PaperRow
from thimble.lab.comem.hosts import QWEN3_4B, Host
from thimble.lab.comem.pipeline import COMEM_STRATEGIES, SUMMARY_TOKENS, Deployment, simulate_agents
from thimble.lab.experiment import Experiment, Row, Rows, group_rows, hash_of, run_experiment
from thimble.lab.experiment_flags import COUNTED_MODEL, whole_number
from thimble.lab.findings import Findings, ResultTable
from thimble.lab.replay.recorded_replay import counter_of

MEANS = MeanSizes(head=2_000, output=1_000, observation=640)
"""Replies of 1,000 tokens are the paper's assumption (3.3). Observations are fitted to one cell: DeepSWE with the full
context, without offload. The head is a guess."""
COLUMNS = {
    "printed": ("paper, s", ",.0f"),
    "simulated": ("simulated, s", ",.0f"),
    "printed_speedup": ("paper ×", ".2f"),
    "simulated_speedup": ("simulated ×", ".2f"),
    "waited": ("waited, s", ",.0f"),
}
"""The figures of a cell: titles and format specs."""


@dataclass(frozen=True, slots=True)
class CoMemCase:
    """A batch of agents on two servers: a cell of the paper, or recorded `runs` under a strategy."""

    part: str
    row: PaperRow
    batch: int
    setting: Deployment
    means: MeanSizes
    seed: int
    runs: Sequence[AgentRun]

    @property
    def key(self) -> str:
        """A hash of all fields."""
        return hash_of(asdict(self))

    @property
    def size(self) -> int:
        """The number of calls."""
        return round(self.batch * self.row.calls)


class CoMem(Experiment[CoMemCase]):
    """Simulate the two servers of CoMem, and show the latencies of its paper next to the simulated ones."""

    epilog = """\
Without FILE: Table 1 and Figure 5. With FILE: recorded runs under each strategy; an assistant message is a call, and
--output and --observation have no effect. docs/results/comem.md says where each number comes from.
"""
    verb = "simulated"

    def add_flags(self, parser: argparse.ArgumentParser) -> None:
        """Add the recorded runs, and the parameters that the paper leaves open."""
        add = parser.add_argument
        told = "recorded trajectories, in the formats of `thimble lab replay`"
        add("files", nargs="*", type=Path, metavar="FILE", help=told)

        def number(flag: str, default: float | None, most: int, told: str, least: int = 1) -> None:
            help = f"{told}; default: {'that of the paper' if default is None else f'{default:,}'}"
            add(flag, default=default, type=whole_number(flag, least, most), metavar="N", help=help)

        number("--batch", PAPER_BATCH, 1024, "concurrent agents, in Table 1 or on FILE")
        number("--k", None, 100, "steps between two summaries")
        number("--gpus", 8, 1024, "GPUs of the agent's server")
        number("--memory-gpus", 8, 1024, "GPUs of the memory model's server")
        number("--output", MEANS.output, 100_000, "mean tokens of a reply")
        number("--observation", MEANS.observation, 100_000, "mean tokens of an observation")
        number("--summary", SUMMARY_TOKENS, 100_000, "tokens of a summary")
        number("--tool", 1.0, 10_000, "seconds that the environment takes between two calls", least=0)
        number("--seed", 0, 2**31, "seed of the drawn sizes", least=0)

    def cases(self, options: argparse.Namespace) -> list[CoMemCase]:
        """The cells column by column; the first of each has the full context, the baseline of the others.

        The agents of a batch cycle through the recorded runs.
        """
        runs: Sequence[AgentRun] = ()
        if options.files:
            found = [recorded_sizes(run, counter_of(COUNTED_MODEL)) for run in read_trajectories(options.files)]
            found = [run for run in found if run.turns]
            if not found:
                raise UsageError("the runs have no model calls", "give runs with assistant messages")
            runs = [found[at % len(found)] for at in range(options.batch)]
            calls = sum(len(run.turns) for run in runs) / options.batch
        columns = [
            (
                "recorded" if runs else "Table 1",
                agent,
                offload,
                options.batch,
                [PaperRow(name, name, calls) for name in COMEM_STRATEGIES] if runs else agent.rows,
            )
            for agent in PAPER_TABLE
            for offload in (False, True)
        ]
        if not runs:
            columns += [("Figure 5", PAPER_TABLE[-1], True, batch, rows) for batch, rows in FIGURE_5.items()]
        means = MeanSizes(MEANS.head, options.output, options.observation)
        return [
            CoMemCase(
                part,
                row,
                batch,
                Deployment(
                    agent=Host(agent.model, agent.gpu, options.gpus),
                    memory=Host(QWEN3_4B, agent.gpu, options.memory_gpus),
                    strategy=row.strategy,
                    k=options.k or agent.k,
                    offload=offload,
                    tool=options.tool,
                    summary=options.summary,
                ),
                means,
                options.seed,
                runs,
            )
            for part, agent, offload, batch, rows in columns
            for row in rows
        ]

    def measure(self, case: CoMemCase) -> list[Row]:
        """The seconds until the last agent of the batch ends, `printed` (None: not in the paper) and `simulated`.

        `waited` is the mean seconds that an agent waited for summaries.
        """
        row, setting = case.row, case.setting
        found = simulate_agents(case.runs or draw_runs(case.batch, row.calls, case.means, case.seed), setting)
        return [
            {
                "part": case.part,
                "agent": setting.agent.model.name,
                "memory": row.memory,
                "calls": row.calls,
                "batch": case.batch,
                "offload": setting.offload,
                "printed": row.printed[setting.offload],
                "simulated": found.seconds,
                "waited": found.waited / case.batch,
            }
        ]

    def report(self, rows: Rows, options: argparse.Namespace) -> Findings:
        """The rows with their speedups over the full context, and a table for each part and agent."""
        columns = group_rows(rows, "part", "agent", "offload", "batch").values()
        rows = [row | _speedups(column[0], row) for column in columns for row in column]
        found = group_rows(rows, "part", "agent", "offload").values()
        return Findings("The servers of CoMem, simulated", [], [*map(_table, found)], rows)


def _table(cells: Rows) -> ResultTable:
    """The table of an agent, with or without offload; Figure 5 has a row for each batch."""
    head, last = cells[0], cells[-1]["batch"]
    where = f", {last} agents" if head["batch"] == last else ""
    return ResultTable(
        f"{head['part']}, {head['agent']}, {'with' if head['offload'] else 'without'} CPU offload{where}",
        ("memory", "calls" if where else "agents", *(title for title, _ in COLUMNS.values())),
        [
            [
                cell["memory"],
                f"{cell['calls']:.2f}" if where else str(cell["batch"]),
                *("–" if cell[name] is None else f"{cell[name]:{form}}" for name, (_, form) in COLUMNS.items()),
            ]
            for cell in cells
        ],
    )


def _speedups(full: Row, cell: Row) -> Row:
    both = ("printed", "simulated")
    return {f"{name}_speedup": full[name] / cell[name] if full[name] and cell[name] else None for name in both}


main = partial(run_experiment, CoMem())
