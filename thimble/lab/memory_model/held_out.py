"""Measure a frozen agent on held-out runs with each kind of memory: Eq. 9, tokens and seconds, in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby, product
from statistics import mean
from time import perf_counter
from typing import Any

from thimble.agent.messages import Message
from thimble.agent.protocols import Backend
from thimble.lab.findings import Findings, ResultTable
from thimble.lab.job_progress import progress
from thimble.lab.memory_model.frozen_agent import FrozenAgent
from thimble.lab.memory_model.memory_steps import MemoryStep, MemoryTask
from thimble.lab.memory_model.summaries import ask_summary, own_words
from thimble.lab.statistics import compare_paired, percentile_interval, resample_means
from thimble.lab.store import Store
from thimble.strategies.compress import Compress

NO_SUMMARY = "no summary"
"""The baseline memory: only the k newest turns."""
Record = dict[str, Any]


Memory = Callable[[MemoryStep], tuple[Sequence[Message] | None, int]]
"""Makes the agent's view at a step (None if the summary was refused) and counts the tokens of the summary."""


def make_memories(task: MemoryTask, models: Mapping[str, Backend]) -> Mapping[str, Memory]:
    """The kinds of memory, in the order of the table."""

    def summarised(step: MemoryStep, summary: str) -> tuple[Sequence[Message] | None, int]:
        return task.view(step, summary), task.counter.count(Message("", "user", summary))

    def own(step: MemoryStep) -> tuple[Sequence[Message] | None, int]:
        words = own_words(step, task)
        return summarised(step, words) if words else (task.newest_turns(step), 0)

    def compressed(step: MemoryStep) -> tuple[Sequence[Message], int]:
        """Compress to the size of the newest turns with the longest summary."""
        budget = task.budget(step)
        least = budget.size(task.newest_turns(step))
        room = replace(budget, limit=least + task.most_tokens)
        view = Compress(window=task.strategy.k, target=1.0).prepare(step.history, room)
        return view, budget.size(view) - least

    def asked(model: Backend) -> Memory:
        return lambda step: summarised(step, ask_summary(model, step, task))

    return {
        "full context": lambda step: (step.history, 0),
        NO_SUMMARY: lambda step: (task.newest_turns(step), 0),
        "compress": compressed,
        "the agent's own words": own,
        **{name: asked(model) for name, model in models.items()},
    }


def measure_memories(
    steps: Sequence[MemoryStep], agent: FrozenAgent, kinds: Mapping[str, Memory], store: Store
) -> Iterator[Record]:
    """A record for each step with each memory, from the store if it has one. Raises ModelError.

    A refused summary counts as 0: with it, the agent would have everything in view.
    """
    known = {record["key"]: record["rows"][0] for record in store.records()}
    wanted = {f"{name}: {step.key}": (name, memory, step) for (name, memory), step in product(kinds.items(), steps)}
    left = len(wanted.keys() - known.keys())
    with progress("measured", left, left) as advance:
        for key, (name, memory, step) in wanted.items():
            if key not in known:
                began = perf_counter()
                view, tokens = memory(step)
                known[key] = {
                    "memory": name,
                    "run": step.run,
                    "step": step.key,
                    "tokens": tokens,
                    "seconds": perf_counter() - began,
                    "refused": view is None,
                    "alike": agent.alike(step, view) if view else 0.0,
                }
                store.add({"key": key, "rows": [known[key]], "spent": 0})
                advance(1)
            yield known[key]


def findings(records: Sequence[Record]) -> Findings:
    """A row for each memory: means of runs, with 95 % intervals over runs."""
    kinds = {name: list(of) for name, of in groupby(records, key=lambda record: record["memory"])}
    without = kinds[NO_SUMMARY]
    needs = {record["step"] for record in without if record["alike"] < 1}
    runs = _by_run(without)
    read = f"{len(without)} steps of {len(runs)} runs. Without a summary, the agent acts differently at {len(needs)}."
    columns = ["memory", "Eq. 9", "more than without", "where needed", "tokens", "refused", "seconds"]
    rows = [[name, *_cells(of, runs, needs)] for name, of in kinds.items()]
    return Findings("The memory model of CoMem", [], [ResultTable("Held-out runs", columns, rows, read)], records)


def _cells(records: Sequence[Record], without: Sequence[float], needs: set[str]) -> Iterator[str]:
    runs = _by_run(records)
    low, high = percentile_interval(resample_means(runs))
    more = compare_paired(runs, without)
    yield f"{mean(runs):.3f} [{low:.3f}, {high:.3f}]"
    yield f"{more.difference:+.3f} [{more.low:+.3f}, {more.high:+.3f}]"
    needed = [record["alike"] for record in records if record["step"] in needs]
    yield f"{mean(needed):.3f}" if needed else ""
    for name, form in (("tokens", ".0f"), ("refused", ".0%"), ("seconds", ".2f")):
        yield f"{mean(record[name] for record in records):{form}}"


def _by_run(records: Sequence[Record]) -> list[float]:
    """The mean of each run: its steps are not independent."""
    return [mean(record["alike"] for record in of) for _, of in groupby(records, key=lambda record: record["run"])]
