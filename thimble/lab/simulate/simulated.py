"""The rows of a simulation, one for each strategy: each turn by thimble's code and by the paper's equations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from thimble.agent.budget import Prices
from thimble.lab.replay.recorded_replay import ReplaySetting, counter_of, decides_by_price, figures, replay
from thimble.lab.replay.trajectories import Trajectory


@dataclass(frozen=True, slots=True)
class SimulatedTurn:
    """One call: its prompt and prefill in tokens, the cost up to it at each price; None where no view fits."""

    number: int
    prompt: int | None
    prefill: int | None
    costs: Sequence[float]


@dataclass(frozen=True, slots=True)
class Simulated:
    """A strategy on the run of equal turns."""

    strategy: str
    turns: Sequence[SimulatedTurn]
    side_calls: int

    @property
    def prompt(self) -> int:
        """Tokens of all prompts."""
        return sum(turn.prompt or 0 for turn in self.turns)

    @property
    def prefill(self) -> int:
        """Tokens of them that a server computes."""
        return sum(turn.prefill or 0 for turn in self.turns)

    @property
    def cached(self) -> float | None:
        """The share of them that a server has cached."""
        return 1 - self.prefill / self.prompt if self.prompt else None


def simulated(run: Trajectory, setting: ReplaySetting, prices: Sequence[Prices]) -> Simulated:
    """The run under a strategy. One that depends on the price is replayed at each; its turns are those at the first."""
    decides = decides_by_price(setting.strategy, setting.model)
    played = {price: list(replay(run, replace(setting, prices=price))) for price in (prices if decides else prices[:1])}
    calls, counter, nothing = played[prices[0]], counter_of(setting.model), Trajectory(run.name, ())
    costs = [
        [*accumulate(figures(nothing, [call], counter).cost(price) for call in played.get(price, calls))]
        for price in prices
    ]
    turns = [
        SimulatedTurn(
            call.turn, call.view.tokens if call.view else None, call.view.prefill if call.view else None, cost
        )
        for call, cost in zip(calls, zip(*costs, strict=True), strict=True)
    ]
    return Simulated(setting.strategy, turns, sum(len(call.asked) for call in calls))


def records(found: Sequence[Simulated], prices: Sequence[Prices]) -> Iterator[dict[str, Any]]:
    """A flat record for each strategy and turn, as in `--json` and `--csv`; costs are those up to the turn."""
    for one in found:
        for turn in one.turns:
            costs = {f"cost_{price.cached}": cost for price, cost in zip(prices, turn.costs, strict=True)}
            yield {
                "strategy": one.strategy,
                "turn": turn.number,
                "prompt_tokens": turn.prompt,
                "prefill_tokens": turn.prefill,
            } | costs
