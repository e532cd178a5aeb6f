"""Compare thrifty with the best schedule of its edits in hindsight.

    python -m scripts.foresight                 # made-up runs
    python -m scripts.foresight runs.jsonl.gz   # recorded ones

The best schedule knows the whole run. At each call it has the same choice as thrifty: mask everything older than the
newest turns, or leave the view unchanged. Only masks, no budget.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from itertools import accumulate
from math import inf
from pathlib import Path
from statistics import median

from tests.support.estimate import EstimateCounter
from tests.support.scripted import Scripted
from thimble.agent.budget import UNLIMITED, Budget, Prices
from thimble.agent.errors import UsageError
from thimble.agent.messages import Message, ToolCall, turns
from thimble.agent.repair import repair
from thimble.agent.side import SideModel
from thimble.agent.view import View, prepare
from thimble.commands.trajectories import read_trajectories
from thimble.lab.exit_code import exit_code
from thimble.strategies.masks import mask_message
from thimble.strategies.spec import make_strategy

PRICES = (0.02, 0.1, 0.25, 0.4, 0.7, 1.0)
WINDOW = 5
MADE_UP = 200


class Sizes:
    """A run in tokens: the part before its first turn, and the text, results and masked results of each turn."""

    def __init__(self, head: int, said: Sequence[int], whole: Sequence[int], small: Sequence[int]) -> None:
        self.turns, self.said = len(said), said
        self.bulky = [more > less for more, less in zip(whole, small, strict=True)]
        self._said, self._whole, self._small = ([*accumulate(each, initial=0)] for each in (said, whole, small))
        self._head = head

    def view(self, k: int, upto: int) -> int:
        """The view after k turns, of which the first `upto` are masked."""
        return self._head + self._said[k] + self._small[upto] + self._whole[k] - self._whole[upto]

    def kept(self, upto: int, new: int) -> int | None:
        """The tokens before the first new mask if `new` turns are masked instead of `upto`; None for no new mask."""
        first = next((at for at in range(upto, new) if self.bulky[at]), None)
        return None if first is None else self.view(first, upto) + self.said[first]


def sizes(history: Sequence[Message], budget: Budget) -> Sizes:
    """The sizes of a history; a user message between two turns counts with the earlier turn."""
    groups = turns(history)
    said, whole, small = [], [], []
    for turn, after in zip(groups, [*(turn.start for turn in groups[1:]), len(history)], strict=True):
        results = [history[at] for at in turn[1:]]
        counts = [budget.count(result) for result in results]
        said.append(budget.count(history[turn.start]) + sum(map(budget.count, history[turn.stop : after])))
        whole.append(sum(counts))
        small.append(sum(min(c, budget.count(mask_message(r, ""))) for r, c in zip(results, counts, strict=True)))
    return Sizes(budget.size(history[: groups[0].start]), said, whole, small)


def cheapest(run: Sizes, window: int, c: float) -> float:
    """The cost of all calls of a run under the best schedule of edits."""
    best = {0: float(run.view(0, 0))}
    for k in range(1, run.turns + 1):
        found: dict[int, float] = {}
        for upto, spent in best.items():
            for new in {upto, max(upto, k - window)}:
                kept = run.kept(upto, new)
                cached = run.view(k - 1, upto) if kept is None else kept
                price = run.view(k, new) - cached + c * cached
                found[new] = min(found.get(new, inf), spent + price)
        best = found
    return min(best.values())


def spent(history: Sequence[Message], budget: Budget, window: int) -> float:
    """The cost of the same calls under thrifty."""
    strategy = make_strategy(f"thrifty:window={window},summaries=off", SideModel(Scripted([], budget.counter)))
    before: View | None = None
    total = 0.0
    for at in [turn.start for turn in turns(history)] + [len(history)]:
        before = prepare(history[:at], strategy, budget, before)
        total += budget.prices.prompt(before.tokens, before.cached)
    return total


def made_up(seed: int) -> list[Message]:
    """A run of 5 to 60 turns with results of 0 to 6,000 characters, a few of them long."""
    chance = random.Random(seed)
    history = [Message("m1", "system", "s" * 800), Message("m2", "user", "q" * 200)]
    for turn in range(chance.randint(5, 60)):
        letters = min(6_000, int(chance.lognormvariate(6, 1.5)))
        call = ToolCall(f"c{turn}", "read_article")
        history.append(Message(f"a{turn}", "assistant", "w" * chance.randint(0, 600), calls=(call,)))
        history.append(Message(f"t{turn}", "tool", "r " * (letters // 2), call_id=call.id, name=call.name))
    return history


def main(files: Sequence[str]) -> None:
    """Print the table. Raises UsageError if no run is long enough."""
    runs: list[Sequence[Message]] = [repair(run.messages).messages for run in read_trajectories(map(Path, files))] or [
        made_up(seed) for seed in range(MADE_UP)
    ]
    show([run for run in runs if len(turns(run)) > WINDOW])


def show(runs: Sequence[Sequence[Message]]) -> None:
    """Print the table for the runs longer than the window."""
    if not runs:
        raise UsageError(f"no run has more than {WINDOW} turns", "give longer ones")
    counter = EstimateCounter()
    print(
        f"{len(runs)} runs, window {WINDOW}, masks only: cost of thrifty over that of the best schedule in hindsight\n"
    )
    print("| price of a cached token | all runs | median | worst |\n|--:|--:|--:|--:|")
    for c in PRICES:
        budget = Budget(UNLIMITED, counter, prices=Prices(cached=c))
        costs = [(spent(run, budget, WINDOW), cheapest(sizes(run, budget), WINDOW, c)) for run in runs]
        ratios = [ours / best for ours, best in costs]
        over_all = sum(ours for ours, _ in costs) / sum(best for _, best in costs)
        print(f"| {c:g} | {over_all:.3f} | {median(ratios):.3f} | {max(ratios):.3f} |")


if __name__ == "__main__":
    sys.exit(exit_code("scripts.foresight", lambda: main(sys.argv[1:])))
