"""How long does a replay take? /compare and /probe prepare every call of a session again, under each strategy.

    python benchmarks/replays.py         # 1,000 messages, 500 calls
    python benchmarks/replays.py 400     # this many messages

Seconds for all calls of a session of tool calls, and milliseconds per call; tokens are counted beforehand. The work of
a call grows with its history, so the time of a replay grows with the square.
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from tests.support.histories import react_history
from tests.support.scripted import Scripted
from thimble.agent.budget import Budget
from thimble.agent.side import SideModel
from thimble.commands.replay import call_lengths, replay_strategy
from thimble.models.counting.vocabulary import counter_for
from thimble.strategies.spec import make_strategy
from thimble.strategies.table import list_without_model

MESSAGES, LIMIT_TOKENS = 1_000, 8_000


def main(messages: int = MESSAGES) -> None:
    history, counter = react_history(messages // 2), counter_for("qwen2.5:7b")
    budget, times = Budget(LIMIT_TOKENS, counter), len(call_lengths(history))
    budget.size(history)
    print(f"{messages:,} messages, {times:,} calls\n\n| strategy | seconds | ms a call |\n|---|--:|--:|")
    for spec in list_without_model():
        started = perf_counter()
        for _ in replay_strategy(history, make_strategy(spec, SideModel(Scripted([], counter))), budget):
            pass
        seconds = perf_counter() - started
        print(f"| {spec} | {seconds:.1f} | {1000 * seconds / times:.1f} |", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
