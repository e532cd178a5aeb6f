"""The rows of a simulation, one for each strategy: each turn by thimble's code and by the paper's equations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

from agent.budget import Budget, Prices
from agent.side import SideModel
from lab.replay.runs import Call, Setting, counter_of, figures, replay
from lab.replay.server import StandIn
from lab.replay.trajectories import Trajectory
from lab.simulate.formula import rule_of
from lab.simulate.synthetic import sizes
from models.embeddings.static import static_embedder
from strategies import parse

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Turn:
    """One call: its prompt and prefill in tokens, the cost up to it at each price; None where no view fits.

    `by_formula` is (prompt, prefill) by the equations; None where there are none.
    """

    number: int
    prompt: int | None
    prefill: int | None
    costs: Sequence[float]
    by_formula: tuple[int, int] | None

    @property
    def agrees(self) -> bool:
        """Whether formula and code say the same."""
        return self.by_formula == (self.prompt, self.prefill)


@dataclass(frozen=True, slots=True)
class Simulated:
    """A strategy on the synthetic run. `has_formula`: whether the paper has equations for it."""

    strategy: str
    turns: Sequence[Turn]
    side_calls: int
    side_tokens: int
    has_formula: bool

    @property
    def differs(self) -> Turn | None:
        """The first turn on which formula and code differ."""
        return next((turn for turn in self.turns if self.has_formula and not turn.agrees), None)

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


def simulated(run: Trajectory, setting: Setting, prices: Sequence[Prices]) -> Simulated:
    """The run under a strategy. One that depends on the price is replayed at each; its turns are those at the first."""
    counter = counter_of(setting.model)
    strategy = parse(setting.strategy, SideModel(StandIn(counter, 0), static_embedder()))
    rule = rule_of(strategy, Budget(setting.limit, counter))
    # a strategy that asks for W words allows 3 W tokens (strategies/summary.py)
    of = sizes(run, counter, min(setting.summary_tokens, 3 * getattr(strategy, "words", setting.summary_tokens)))
    decides = bool(getattr(strategy, "priced", False))
    calls = list(replay(run, replace(setting, prices=prices[0])))
    at_prices = [list(replay(run, replace(setting, prices=price))) if decides else calls for price in prices]
    costs = [_costs(run, each, price, setting) for each, price in zip(at_prices, prices, strict=True)]
    turns = [
        Turn(
            call.turn,
            call.view.tokens if call.view else None,
            call.prefill if call.view else None,
            [cost[call.turn - 1] for cost in costs],
            (rule.prompt(of, call.turn), rule.prefill(of, call.turn)) if rule else None,
        )
        for call in calls
    ]
    asked = [side for call in calls for side in call.asked]
    side_tokens = sum(side.prompt_tokens + side.output_tokens for side in asked)
    return Simulated(setting.strategy, turns, len(asked), side_tokens, rule is not None)


def _costs(run: Trajectory, calls: Sequence[Call], price: Prices, setting: Setting) -> list[float]:
    """The cost up to each call, those of the strategy included."""
    empty = Trajectory(run.name, ())
    return list(accumulate(figures(empty, [call], counter_of(setting.model)).cost(price) for call in calls))


def document(found: Sequence[Simulated], prices: Sequence[Prices]) -> list[Row]:
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
            "formula": one.has_formula,
            "differs_from_turn": one.differs and one.differs.number,
            "turns": list(table([one], prices)),
        }
        for one in found
    ]


def table(found: Sequence[Simulated], prices: Sequence[Prices]) -> Iterator[Row]:
    """A flat record for each strategy and turn, as in `--csv`; costs are those up to the turn."""
    for one in found:
        for turn in one.turns:
            prompt, prefill = turn.by_formula or (None, None)
            costs = {f"cost_{price.cached}": cost for price, cost in zip(prices, turn.costs, strict=True)}
            yield {
                "strategy": one.strategy,
                "turn": turn.number,
                "prompt_tokens": turn.prompt,
                "prefill_tokens": turn.prefill,
                "formula_prompt_tokens": prompt,
                "formula_prefill_tokens": prefill,
            } | costs
