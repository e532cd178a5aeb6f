"""How well a frozen agent acts on held-out runs, with each kind of memory: Eq. 9, tokens and seconds, in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from statistics import mean
from time import perf_counter
from typing import Any

from thimble.agent.messages import Message
from thimble.lab.findings import Findings, ResultTable
from thimble.lab.memory_model.frozen_agent import FrozenAgent
from thimble.lab.memory_model.memory_steps import MemoryStep
from thimble.lab.memory_model.summaries import MemoryModel, own_words
from thimble.lab.statistics import interval, paired, resampled
from thimble.lab.store import Store
from thimble.strategies.compress import Compress

NOTHING = "no summary"
"""The memory that the others are compared with: the k newest turns."""
Record = dict[str, Any]
Memory = Callable[[MemoryStep, FrozenAgent], Record]
"""What comes of a step: `alike` (Eq. 9), and `tokens` and `seconds` of the summary."""


def memories(models: Mapping[str, MemoryModel]) -> Mapping[str, Memory]:
    """The kinds of memory, in the order of the table."""

    def asked(model: MemoryModel) -> Memory:
        return lambda step, agent: _summarised(step, agent, *model.summary(step, agent))

    return {
        "full context": lambda step, agent: _viewed(step, agent, step.history, 0),
        NOTHING: lambda step, agent: _viewed(step, agent, agent.task.newest_turns(step), 0),
        "compress": _compressed,
        "the agent's own words": _quoted,
        **{name: asked(model) for name, model in models.items()},
    }


def measure(
    steps: Sequence[MemoryStep], agent: FrozenAgent, kinds: Mapping[str, Memory], store: Store
) -> Iterator[Record]:
    """What came of each step with each memory. What is in the store is not measured again. Raises ModelError."""
    known = {record["key"]: record for record in store.records()}
    for name, memory in kinds.items():
        for step in steps:
            key = f"{name} {step.key}"
            if key not in known:
                known[key] = {"key": key, "memory": name, "run": step.run, **memory(step, agent)}
                store.add(known[key])
            yield known[key]


def _viewed(step: MemoryStep, agent: FrozenAgent, view: Sequence[Message], tokens: int, seconds: float = 0.0) -> Record:
    return {"alike": agent.alike(step, view), "tokens": tokens, "seconds": seconds, "refused": False}


def _summarised(step: MemoryStep, agent: FrozenAgent, summary: str, seconds: float) -> Record:
    """A summary that is refused counts as 0: the agent would have everything in view."""
    made, tokens = agent.task.view(step, summary), agent.task.counter.count(Message("", "user", summary))
    record = _viewed(step, agent, made.view, tokens, seconds)
    return {**record, "alike": 0.0, "refused": True} if made.refused else record


def _quoted(step: MemoryStep, agent: FrozenAgent) -> Record:
    """The agent's answers; no summary where there are none."""
    words = own_words(step, agent)
    return _summarised(step, agent, words, 0.0) if words else _viewed(step, agent, agent.task.newest_turns(step), 0)


def _compressed(step: MemoryStep, agent: FrozenAgent) -> Record:
    """The strategy `compress`, with as much room as the newest turns and the longest summary take."""
    budget, began = agent.task.budget(step), perf_counter()
    least = budget.size(agent.task.newest_turns(step))
    room = replace(budget, limit=least + agent.task.most_tokens)
    view = Compress(window=agent.task.strategy.k, target=1.0).prepare(step.history, room)
    return _viewed(step, agent, view, budget.size(view) - least, perf_counter() - began)


# --- the table --------------------------------------------------------------------------------------------------------


def findings(records: Sequence[Record], told: Sequence[str]) -> Findings:
    """A row for each memory; means of runs, with intervals over runs."""
    by_memory = {name: list(of) for name, of in groupby(records, key=lambda record: record["memory"])}
    needs = {_step(record) for record in by_memory[NOTHING] if record["alike"] < 1}
    baseline = _by_run(by_memory[NOTHING])
    columns = ("Eq. 9", "95 % interval", "more than none", "p", "where needed", "tokens", "refused", "seconds")
    rows = [[name, *_cells(of, baseline, needs)] for name, of in by_memory.items()]
    steps = len(by_memory[NOTHING])
    read = f"{steps} steps of {len(baseline)} runs; without a summary the agent acts otherwise at {len(needs)} of them."
    table = ResultTable("Held-out runs", ["memory", *columns], rows, read)
    return Findings("The memory model of CoMem", told, [table], records)


def _cells(records: Sequence[Record], baseline: Sequence[float], needs: set[str]) -> Iterator[str]:
    runs = _by_run(records)
    low, high = interval(resampled(runs))
    more = paired(runs, baseline)
    yield f"{mean(runs):.3f}"
    yield f"{low:.3f} to {high:.3f}"
    yield f"{more.difference:+.3f} ({more.low:+.3f} to {more.high:+.3f})"
    yield f"{more.p:.4f}"
    yield f"{mean([record['alike'] for record in records if _step(record) in needs] or [1.0]):.3f}"
    yield f"{mean(record['tokens'] for record in records):.0f}"
    yield f"{mean(record['refused'] for record in records):.0%}"
    yield f"{mean(record['seconds'] for record in records):.2f}"


def _by_run(records: Sequence[Record]) -> list[float]:
    """The mean of each run: its steps are not independent of one another."""
    ordered = sorted(records, key=lambda record: str(record["run"]))
    return [mean(record["alike"] for record in of) for _, of in groupby(ordered, key=lambda record: record["run"])]


def _step(record: Record) -> str:
    return str(record["key"]).removeprefix(f"{record['memory']} ")
