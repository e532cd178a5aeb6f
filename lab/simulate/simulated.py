"""The rows of a simulation, one for each strategy: each turn by thimble's code and by the paper's equations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from thimble.agent.budget import Prices
from thimble.lab.replay.recorded_replay import (
    ReplayedCall,
    ReplaySetting,
    counter_of,
    decides_by_price,
    figures,
    replay,
)
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
    side_tokens: int

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
    calls = list(replay(run, replace(setting, prices=prices[0])))
    at_prices = [list(replay(run, replace(setting, prices=price))) if decides else calls for price in prices]
    costs = [_costs(run, each, price, setting) for each, price in zip(at_prices, prices, strict=True)]
    turns = [
        SimulatedTurn(
            call.turn,
            call.view.tokens if call.view else None,
            call.prefill if call.view else None,
            [cost[call.turn - 1] for cost in costs],
        )
        for call in calls
    ]
    asked = [side for call in calls for side in call.asked]
    side_tokens = sum(side.prompt_tokens + side.output_tokens for side in asked)
    return Simulated(setting.strategy, turns, len(asked), side_tokens)


def _costs(run: Trajectory, calls: Sequence[ReplayedCall], price: Prices, setting: ReplaySetting) -> list[float]:
    """The cost up to each call, those of the strategy included."""
    empty = Trajectory(run.name, ())
    return list(accumulate(figures(empty, [call], counter_of(setting.model)).cost(price) for call in calls))


def records(found: Sequence[Simulated], prices: Sequence[Prices]) -> list[dict[str, Any]]:
    """The rows as in `--json`."""
    names = [str(price.cached) for price in prices]
    return [
        {
            "strategy": one.strategy,
            "prompt_tokens": one.prompt,
            "prefill_tokens": one.prefill,
            "cached_share": one.cached,
            "side_calls": one.side_calls,
            "side_tokens": one.side_tokens,
            "cost": dict(zip(names, one.turns[-1].costs, strict=True)),
            "turns": list(turn_records([one], prices)),
        }
        for one in found
    ]


def turn_records(found: Sequence[Simulated], prices: Sequence[Prices]) -> Iterator[dict[str, Any]]:
    """A flat record for each strategy and turn, as in `--csv`; costs are those up to the turn."""
    for one in found:
        for turn in one.turns:
            costs = {f"cost_{price.cached}": cost for price, cost in zip(prices, turn.costs, strict=True)}
            yield {
                "strategy": one.strategy,
                "turn": turn.number,
                "prompt_tokens": turn.prompt,
                "prefill_tokens": turn.prefill,
            } | costs
