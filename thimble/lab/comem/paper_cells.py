"""The cells to show: each row of the paper, or recorded runs under each strategy, simulated beside what is printed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from thimble.lab.comem.agent_runs import AgentRun, MeanSizes, drawn
from thimble.lab.comem.comem_paper import FIGURE_5, PAPER_TABLE, PaperAgent, PaperRow
from thimble.lab.comem.hosts import QWEN3_4B, Host
from thimble.lab.comem.pipeline import COMEM_STRATEGIES, SUMMARY_TOKENS, Deployment, PipelineOutcome, simulate

MEANS = MeanSizes(head=2_000, output=1_000, observation=640)
"""The paper reckons with replies of 1,000 tokens (3.3). Observations are set by one cell: the full context of DeepSWE
without offload. The head is a guess."""


@dataclass(frozen=True, slots=True)
class Assumed:
    """What the paper leaves open: GPUs of both servers, tokens of the parts of a run, seconds of a tool; and a seed."""

    gpus: int = 8
    memory_gpus: int = 8
    means: MeanSizes = MEANS
    summary: int = SUMMARY_TOKENS
    tool: float = 1.0
    seed: int = 0


@dataclass(frozen=True, slots=True)
class PaperCell:
    """Seconds until the last agent of the batch has ended, as printed and as simulated, and both against full context.

    `waited` is the mean of the seconds that an agent waited for summaries. None: not printed.
    """

    part: str
    agent: str
    memory: str
    calls: float
    batch: int
    offload: bool
    printed: float | None
    simulated: float
    printed_speedup: float | None
    speedup: float
    waited: float


def table_1(assumed: Assumed, batch: int, k: int | None) -> Iterator[PaperCell]:
    """Table 1. `k` replaces that of every agent."""
    for agent in PAPER_TABLE:
        for offload in (False, True):
            yield from _column("Table 1", agent, agent.rows, assumed, batch, k, offload)


def figure_5(assumed: Assumed, k: int | None) -> Iterator[PaperCell]:
    """Figure 5."""
    agent = PAPER_TABLE[-1]
    full, ours = agent.rows[0], next(row for row in agent.rows if row.memory == "GRPO")
    for batch, printed in FIGURE_5.items():
        rows = [
            PaperRow(row.memory, row.strategy, row.calls, (None, seconds))
            for row, seconds in zip((full, ours), printed, strict=True)
        ]
        yield from _column("Figure 5", agent, rows, assumed, batch, k, offload=True)


def of_runs(runs: Sequence[AgentRun], assumed: Assumed, batch: int, k: int | None) -> Iterator[PaperCell]:
    """Recorded runs under each strategy; the agents of a batch take them in turn."""
    taken = [runs[at % len(runs)] for at in range(batch)]
    calls = sum(len(run.turns) for run in taken) / batch
    for agent in PAPER_TABLE:
        rows = [PaperRow(strategy, strategy, calls) for strategy in COMEM_STRATEGIES]
        for offload in (False, True):
            yield from _column("recorded", agent, rows, assumed, batch, k, offload, taken)


def _column(
    part: str,
    agent: PaperAgent,
    rows: Sequence[PaperRow],
    assumed: Assumed,
    batch: int,
    k: int | None,
    offload: bool,
    runs: Sequence[AgentRun] = (),
) -> Iterator[PaperCell]:
    """One column of an agent; the first row is what the others are compared with."""
    full: PipelineOutcome | None = None
    for row in rows:
        found = simulate(
            runs or drawn(batch, row.calls, assumed.means, assumed.seed),
            Deployment(
                agent=Host(agent.model, agent.gpu, assumed.gpus),
                memory=Host(QWEN3_4B, agent.gpu, assumed.memory_gpus),
                strategy=row.strategy,
                k=k or agent.k,
                offload=offload,
                tool=assumed.tool,
                summary=assumed.summary,
            ),
        )
        full = full or found
        printed, against = row.printed[offload], rows[0].printed[offload]
        yield PaperCell(
            part,
            agent.model.name,
            row.memory,
            row.calls,
            batch,
            offload,
            printed,
            found.seconds,
            against / printed if against and printed else None,
            full.seconds / found.seconds,
            found.waited / batch,
        )
