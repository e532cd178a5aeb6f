"""How well a frozen agent acts on held-out runs, with each kind of memory: Eq. 9, tokens and seconds, in one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from statistics import mean
from typing import Any

from thimble.agent.messages import Message
from thimble.lab.findings import Findings, ResultTable
from thimble.lab.memory_model.frozen_agent import FrozenAgent
from thimble.lab.memory_model.memory_steps import MemoryStep
from thimble.lab.memory_model.summaries import MemoryModel, own_words
from thimble.lab.statistics import interval, paired, resampled
from thimble.lab.store import Store
from thimble.strategies.compress import Compress

NO_SUMMARY = "no summary"
"""The memory that the others are compared with: the k newest turns."""
Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Memories:
    """The kinds of memory: what comes of a step with each."""

    agent: FrozenAgent
    models: Mapping[str, MemoryModel]

    @property
    def kinds(self) -> Mapping[str, Callable[[MemoryStep], Record]]:
        """By name, in the order of the table. A record has `alike` (Eq. 9), `tokens`, `seconds` and `refused`."""
        return {
            "full context": lambda step: self._viewed(step, step.history),
            NO_SUMMARY: lambda step: self._viewed(step, self.agent.task.newest_turns(step)),
            "compress": self._compressed,
            "the agent's own words": self._quoted,
            **{name: self._asked(model) for name, model in self.models.items()},
        }

    def measure(self, steps: Sequence[MemoryStep], store: Store) -> Iterator[Record]:
        """What came of each step with each memory. What is in the store is not measured again. Raises ModelError."""
        known = {record["key"]: record for record in store.records()}
        for name, memory in self.kinds.items():
            for step in steps:
                key = f"{name}: {step.key}"
                if key not in known:
                    known[key] = {"key": key, "memory": name, "run": step.run, "step": step.key, **memory(step)}
                    store.add(known[key])
                yield known[key]

    def _viewed(self, step: MemoryStep, view: Sequence[Message] | None, tokens: int = 0, seconds: float = 0) -> Record:
        """A summary that is refused (no view) counts as 0: the agent would have everything in view."""
        alike = self.agent.alike(step, view) if view else 0.0
        return {"alike": alike, "tokens": tokens, "seconds": seconds, "refused": view is None}

    def _summarised(self, step: MemoryStep, summary: str, seconds: float = 0) -> Record:
        task = self.agent.task
        return self._viewed(step, task.view(step, summary), task.counter.count(Message("", "user", summary)), seconds)

    def _asked(self, model: MemoryModel) -> Callable[[MemoryStep], Record]:
        return lambda step: self._summarised(step, *model.summary(step, self.agent.task))

    def _quoted(self, step: MemoryStep) -> Record:
        words = own_words(step, self.agent.task)
        return self._summarised(step, words) if words else self._viewed(step, self.agent.task.newest_turns(step))

    def _compressed(self, step: MemoryStep) -> Record:
        """The strategy `compress`, with as much room as the newest turns and the longest summary take."""
        task, budget = self.agent.task, self.agent.task.budget(step)
        least = budget.size(task.newest_turns(step))
        room = replace(budget, limit=least + task.most_tokens)
        view = Compress(window=task.strategy.k, target=1.0).prepare(step.history, room)
        return self._viewed(step, view, budget.size(view) - least)


def findings(records: Sequence[Record], told: Sequence[str]) -> Findings:
    """A row for each memory; means of runs, with intervals over runs."""
    kinds = {name: list(of) for name, of in groupby(records, key=lambda record: record["memory"])}
    without = kinds[NO_SUMMARY]
    needs = {record["step"] for record in without if record["alike"] < 1}
    runs = _by_run(without)
    read = f"{len(without)} steps of {len(runs)} runs. Without a summary the agent acts otherwise at {len(needs)}."
    columns = ["memory", "Eq. 9", "95 % interval", "more than without", "where needed", "tokens", "refused", "seconds"]
    rows = [[name, *_cells(of, runs, needs)] for name, of in kinds.items()]
    return Findings("The memory model of CoMem", told, [ResultTable("Held-out runs", columns, rows, read)], records)


def _cells(records: Sequence[Record], without: Sequence[float], needs: set[str]) -> Iterator[str]:
    runs = _by_run(records)
    low, high = interval(resampled(runs))
    more = paired(runs, without)
    yield f"{mean(runs):.3f}"
    yield f"{low:.3f} to {high:.3f}"
    yield f"{more.difference:+.3f} ({more.low:+.3f} to {more.high:+.3f})"
    needed = [record["alike"] for record in records if record["step"] in needs]
    yield f"{mean(needed):.3f}" if needed else "–"
    yield f"{mean(record['tokens'] for record in records):.0f}"
    yield f"{mean(record['refused'] for record in records):.0%}"
    yield f"{mean(record['seconds'] for record in records):.2f}"


def _by_run(records: Sequence[Record]) -> list[float]:
    """The mean of each run: its steps depend on one another."""
    return [mean(record["alike"] for record in of) for _, of in groupby(records, key=lambda record: record["run"])]
