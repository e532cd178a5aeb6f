"""Measure the cost of context management: milliseconds of `prepare`, and prefill on one long question.

    python benchmarks/prepare.py            # tables in Markdown
    python benchmarks/prepare.py --check    # the same, and exit 1 if a limit is broken

Times are in milliseconds, for the strategies that call no model. Warm: one more call of a session after 41 calls (82
messages). Cold: the first call of a fresh strategy with 4,002 messages at once. In both, the history's tokens are
already counted. A strategy that reads the observations for its view (`READING`) reads each once, at the first call; its
limit applies to the next call, with the same 4,002 messages. *Road* is all of `agent.view.prepare`: repair, the
strategy, the laws, fit, measurement. *Ratio* compares with fixed work in the same run (copying the list and adding up
its tokens), so that two machines can be compared. The limits apply to `prepare` alone.

Prefill counts, as `agent.view.measure` does, the tokens after the first difference from the last prompt.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from agent.budget import Budget, Counter
from agent.messages import Message, Schema
from agent.protocols import Delta, Strategy, Text
from agent.side import SideModel
from agent.view import View, prepare
from models.counting.message_counter import ChatCounter
from models.scripted import Scripted
from strategies import STRATEGIES, parse
from strategies.table import without_a_model
from tests.support.histories import TinyCounter, calls_of, react

LIMIT_TOKENS = 8_000
WARM_LIMIT_MS, COLD_LIMIT_MS = 1.0, 20.0
WARM_TIMES, COLD_TIMES = 300, 15
LONG, LONG_SUMMARIES = 2_000, 500
"""Tool steps of the long sessions."""
READING = ("retrieval", "compress")
PREFILL_LIMIT = 1.35
"""The most prefill of masking on react40, against no management."""

SPECS = without_a_model()
PAPERS = [
    "sliding-window:window=10",
    "observation-masking:window=10,when=always",
]


class QuickCounter(ChatCounter):
    """Remembers counts like the real counters, and counts new messages at no cost."""

    def tokens(self, text: str) -> int:
        """Four characters are a token."""
        return len(text) // 4


@dataclass(frozen=True, slots=True)
class Timing:
    """Median milliseconds at one length of history: one strategy's `prepare`, its whole road, and the reference."""

    bare: float
    road: float
    reference: float


def main(arguments: Sequence[str]) -> int:
    """Print the tables; 1 if a limit is broken, with `--check`."""
    broken = [*_times(), *_prefills()]
    _summaries()
    for line in broken:
        print(f"over the limit: {line}")
    return 1 if broken and "--check" in arguments else 0


# --- times ------------------------------------------------------------------------------------------------------------


def _times() -> list[str]:
    broken = []
    for title, measure, limit in (
        (f"Warm, 82 messages, median of {WARM_TIMES} calls", _warm, WARM_LIMIT_MS),
        (f"Cold, {2 * LONG + 2:,} messages, median of {COLD_TIMES} sessions", _cold, COLD_LIMIT_MS),
        (f"Warm, {2 * LONG + 2:,} messages, median of {COLD_TIMES} calls", _long, COLD_LIMIT_MS),
    ):
        print(f"\n{title}; budget {LIMIT_TOKENS:,}, limit {limit:g} ms\n")
        print("| strategy | prepare ms | road ms | reference ms | ratio | road ratio |\n|---|--:|--:|--:|--:|--:|")
        for spec in SPECS:
            took = measure(spec)
            ratios = f"{took.bare / took.reference:.1f} | {took.road / took.reference:.1f}"
            print(f"| {spec} | {took.bare:.3f} | {took.road:.3f} | {took.reference:.3f} | {ratios} |")
            reads = measure is _cold and spec in READING
            broken += [f"{spec}, {title}: {took.bare:.3f} ms"] if took.bare > limit and not reads else []
    return broken


def _warm(spec: str) -> Timing:
    history, strategy, budget = react(40), _strategy(spec), _budget(QuickCounter())
    before: View | None = None
    for messages in calls_of(history):
        before = prepare(messages, strategy, budget, before)
    tasks = _tasks(strategy, history, budget, before)
    return Timing(*(median(_milliseconds(task) for _ in range(WARM_TIMES)) for task in tasks))


def _cold(spec: str) -> Timing:
    taken: list[list[float]] = [[], [], []]
    for number in range(COLD_TIMES):
        for column, text in enumerate(("bare", "road", "reference")):
            history = [replace(message, content=f"{text} {number} {message.content}") for message in react(LONG)]
            budget = _budget(QuickCounter())
            budget.size(history)
            taken[column].append(_milliseconds(_tasks(_strategy(spec), history, budget)[column]))
    return Timing(*map(median, taken))


def _long(spec: str) -> Timing:
    history, strategy, budget = react(LONG), _strategy(spec), _budget(QuickCounter())
    tasks = _tasks(strategy, history, budget, prepare(history, strategy, budget))
    return Timing(*(median(_milliseconds(task) for _ in range(COLD_TIMES)) for task in tasks))


def _tasks(
    strategy: Strategy, history: list[Message], budget: Budget, before: View | None = None
) -> tuple[Callable[[], object], ...]:
    return (
        lambda: strategy.prepare(history, budget),
        lambda: prepare(history, strategy, budget, before),
        lambda: budget.size(list(history)),
    )


def _milliseconds(task: Callable[[], object]) -> float:
    started = perf_counter()
    task()
    return (perf_counter() - started) * 1000


# --- prefill ----------------------------------------------------------------------------------------------------------


def _prefills() -> list[str]:
    print("\nreact40: one question, 40 tool steps of about 600 tokens, 41 calls\n")
    print("| strategy | prompt tokens | prefill | calls over budget | of unmanaged prefill |\n|---|--:|--:|--:|--:|")
    unmanaged, broken = 0, []
    for spec in [*STRATEGIES, "observation-masking+sliding-window", *PAPERS]:
        views = _views(spec)
        prefill = sum(view.prefill for view in views)
        over = sum(view.tokens > view.limit for view in views)
        unmanaged = unmanaged or prefill
        print(f"| {spec} | {sum(view.tokens for view in views):,} | {prefill:,} | {over} | {prefill / unmanaged:.2f} |")
        if spec == "observation-masking" and (over or prefill > PREFILL_LIMIT * unmanaged):
            broken.append(f"{spec}: {prefill:,} tokens of prefill, {over} calls over the budget")
    return broken


def _summaries() -> None:
    print("\nSummaries, with tool steps as before; sent is what the summariser reads, in all and in one call at most\n")
    print("| strategy | steps | prefill | of unmanaged | over budget | calls | sent | most |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for steps in (40, LONG_SUMMARIES):
        unmanaged = sum(view.prefill for view in _views("none", steps=steps))
        for spec in (name for name in STRATEGIES if name not in SPECS):
            model = Scripted([_summary] * 10 * steps, TinyCounter())
            views = _views(spec, model, steps)
            prefill = sum(view.prefill for view in views)
            over = sum(view.tokens > view.limit for view in views)
            sent = [sum(map(model.counter.count, request.messages)) for request in model.requests]
            row = f"| {spec} | {steps} | {prefill:,} | {prefill / unmanaged:.2f} | {over} | {len(sent)}"
            print(f"{row} | {sum(sent):,} | {max(sent, default=0):,} |")


def _summary(messages: Sequence[Message], tools: Sequence[Schema]) -> Delta:
    """A summary with all the requested words."""
    asked = re.search(r"at most (\d+) words", messages[-1].content)
    return Text("found " * int(asked[1]) if asked else "found")


def _views(spec: str, model: Scripted | None = None, steps: int = 40) -> list[View]:
    strategy, budget = _strategy(spec, model), _budget(TinyCounter())
    views: list[View] = []
    for messages in calls_of(react(steps)):
        views.append(prepare(messages, strategy, budget, views[-1] if views else None))
    return views


def _budget(counter: Counter) -> Budget:
    return Budget(LIMIT_TOKENS, counter)


def _strategy(spec: str, model: Scripted | None = None) -> Strategy:
    """A fresh strategy; a model that it asks writes all the requested words."""
    return parse(spec, SideModel(model or Scripted([_summary] * 99, TinyCounter())))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
