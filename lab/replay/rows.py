"""The rows of a replay, as in `--json`: one for each strategy, over all runs and by their length."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agent.budget import UNLIMITED, Prices
from lab.replay.runs import Figures, Setting

CLASSES: Mapping[str, Callable[[int], bool]] = {
    "<20": lambda turns: turns < 20,
    "20-40": lambda turns: 20 <= turns < 40,
    "40-80": lambda turns: 40 <= turns <= 80,
    ">80": lambda turns: turns > 80,
}
"""Classes of runs by their number of turns (assistant messages)."""

Row = dict[str, Any]
Found = Mapping[Setting, Sequence[Figures]]
"""The figures of every run, in order, under each setting."""


def rows(found: Found, turns: Sequence[int], prices: Sequence[Prices]) -> list[Row]:
    """One row for each strategy. `turns` are the numbers of turns of the runs, in the order of their figures.

    A strategy that depends on the price has one setting for each price: its tokens are those at the first price, and
    `by_price` has all.
    """
    by_strategy: dict[str, dict[Prices, Sequence[Figures]]] = {}
    for setting, figures in found.items():
        by_strategy.setdefault(setting.strategy, {})[setting.prices] = figures
    limit = next(iter(found)).limit
    return [
        {"strategy": strategy, "budget": None if limit == UNLIMITED else limit}
        | _entry({price: sum(figures, Figures()) for price, figures in of.items()}, prices)
        | {"by_turns": {name: _entry(_only(of, turns, holds), prices) for name, holds in CLASSES.items()}}
        for strategy, of in by_strategy.items()
    ]


def _only(
    of: Mapping[Prices, Sequence[Figures]], turns: Sequence[int], holds: Callable[[int], bool]
) -> dict[Prices, Figures]:
    return {
        price: sum((one for one, length in zip(figures, turns, strict=True) if holds(length)), Figures())
        for price, figures in of.items()
    }


def _entry(at: Mapping[Prices, Figures], prices: Sequence[Prices]) -> Row:
    first = at[prices[0]]
    entry = _tokens(first) | {"cost": {str(price.cached): at.get(price, first).cost(price) for price in prices}}
    if first.history_tokens:
        entry["observation_share"] = first.observation_tokens / first.history_tokens
    if len(at) > 1:
        entry["by_price"] = {str(price.cached): _tokens(at[price]) for price in prices}
    return entry


def _tokens(figures: Figures) -> Row:
    return {
        "runs": figures.runs,
        "calls": figures.calls,
        "prompt_tokens": figures.prompt_tokens,
        "prefill_tokens": figures.prefill_tokens,
        "over_budget": figures.over_budget,
        "refused": figures.refused,
        "edits": figures.edits,
        "side_calls": figures.side_calls,
        "side_tokens": figures.side_prompt_tokens + figures.side_output_tokens,
    }
