"""Measure the cost of context management: milliseconds of `prepare`, and prefill on one long question.

    python benchmarks/prepare.py            # tables in Markdown
    python benchmarks/prepare.py --check    # the same, and exit 1 if a limit is broken

Times are in milliseconds of CPU time, for the strategies that call no model, and `thrifty`. A next call is the work of
the loop between two model calls: it records the reply and the result, makes the view and records it. The first call
sees all messages at once. A view is made from the whole history, so beyond 4,002 messages the limit grows with it. A
strategy that reads the observations for its view (`READING`) has no limit.

Prefill counts the tokens after the first difference from the last prompt, as `agent.view.measure_view` does.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, median
from time import process_time

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from tests.support.histories import TinyCounter, calls_of, react_history
from tests.support.scripted import Scripted
from thimble.agent import loop
from thimble.agent.agent import Agent
from thimble.agent.budget import Budget, Counter
from thimble.agent.events import Prepared, Preparing, Replied, ToolReturned
from thimble.agent.messages import Message, Schema, ToolCall
from thimble.agent.protocols import Delta, Strategy, Text, Usage
from thimble.agent.side import SideModel
from thimble.agent.state import State
from thimble.agent.view import View, prepare
from thimble.lab.replay.fake_model import newest_name
from thimble.models.counting.message_counter import ChatCounter
from thimble.strategies.spec import make_strategy
from thimble.strategies.table import STRATEGIES, list_without_model

LIMIT_TOKENS = 8_000
LIMIT_MS, OF_MESSAGES = 20.0, 4_002
"""The limit for a next call with OF_MESSAGES messages; in proportion beyond."""
LENGTHS, CALLS = (100, OF_MESSAGES, 4 * OF_MESSAGES), 50
"""The messages in a session before the next calls, and the number of calls to measure."""
LONG_SUMMARIES = 500
"""The tool steps of a long session."""
READING = ("compress", "tidy", "dedup")
PREFILL_LIMIT = 1.35
"""The limit for the prefill of masking on react40, relative to `none`."""

SPECS = list_without_model()
TIMED = [*SPECS, "thrifty"]
PAPERS = [
    "sliding-window:window=10",
    "observation-masking:window=10,when=always",
]


class QuickCounter(ChatCounter):
    """Caches counts like the real counters, and counts new messages at no cost."""

    def tokens(self, text: str) -> int:
        """Count four characters as a token."""
        return len(text) // 4


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds of the next calls of a session, and of its first call."""

    median: float
    mean: float
    worst: float
    first: float


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
    for length in LENGTHS:
        most = LIMIT_MS * max(1, length / OF_MESSAGES)
        print(f"\nNext call, {length:,} messages, {CALLS} calls; budget {LIMIT_TOKENS:,}, limit {most:.0f} ms\n")
        print("| strategy | median ms | mean ms | worst ms | first call ms |\n|---|--:|--:|--:|--:|")
        for spec in TIMED:
            took = _next_calls(spec, length)
            row = f"| {spec} | {took.median:.2f} | {took.mean:.2f} | {took.worst:.1f} | {took.first:,.0f} |"
            print(row, flush=True)
            slow = took.median > most and spec not in READING
            broken += [f"{spec}, {length:,} messages: {took.median:.2f} ms"] if slow else []
    return broken


def _next_calls(spec: str, length: int) -> Timing:
    history = react_history((length - 2) // 2 + CALLS)
    agent = _agent(spec, history[:length])
    first, taken = _milliseconds(agent), []
    for start in range(length, length + 2 * CALLS, 2):
        taken.append(_milliseconds(agent, *history[start : start + 2]))
    return Timing(median(taken), fmean(taken), max(taken), first)


def _agent(spec: str, history: list[Message]) -> Agent:
    backend = Scripted([], QuickCounter())
    state = State(spec, LIMIT_TOKENS, history=history)
    return Agent(backend, _strategy(spec), state, {}, SideModel(backend))


def _call(agent: Agent, *messages: Message) -> None:
    """One turn of the loop without the model and the tool."""
    for message in messages:
        if message.role == "assistant":
            agent.enter(Replied(1, message, Usage(), 0, None))
        else:
            call = ToolCall(message.call_id, message.name)
            agent.enter(ToolReturned(call, message, agent.backend.counter.count(message), False, 0, True))
    agent.enter(Preparing(1, agent.strategy_name, agent.limit))
    call = agent.next_call()
    agent.enter(Prepared(1, agent.strategy_name, agent.backend.id, loop.prepare(agent, call), False, (), call.before))


def _milliseconds(agent: Agent, *messages: Message) -> float:
    started = process_time()
    _call(agent, *messages)
    return (process_time() - started) * 1000


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
    """A summary with all the requested words, each different: a model that repeats itself is cut off."""
    asked = re.search(r"at most (\d+) words", messages[-1].content)
    words = [newest_name(messages), *(f"{number:05}" for number in range(1, int(asked[1]) if asked else 1))]
    return Text(" ".join(words))


def _views(spec: str, model: Scripted | None = None, steps: int = 40) -> list[View]:
    strategy, budget = _strategy(spec, model), _budget(TinyCounter())
    views: list[View] = []
    for messages in calls_of(react_history(steps)):
        views.append(prepare(messages, strategy, budget, views[-1] if views else None))
    return views


def _budget(counter: Counter) -> Budget:
    return Budget(LIMIT_TOKENS, counter)


def _strategy(spec: str, model: Scripted | None = None) -> Strategy:
    """A fresh strategy; the model that it asks writes all the requested words."""
    return make_strategy(spec, SideModel(model or Scripted([_summary] * 99, TinyCounter())))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
