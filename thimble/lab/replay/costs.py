"""The rows of a replay, as in `--json`: one for each strategy, over all runs, by their length, and for each run."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from statistics import quantiles
from typing import Any

from thimble.agent.budget import UNLIMITED, Prices
from thimble.lab.replay.recorded_replay import Figures, ReplaySetting
from thimble.lab.replay.trajectories import Trajectory

RAW_AGENT = "none"
"""The strategy that the others are compared with."""

CLASSES: Mapping[str, Callable[[int], bool]] = {
    "<20": lambda turns: turns < 20,
    "20-40": lambda turns: 20 <= turns < 40,
    "40-80": lambda turns: 40 <= turns <= 80,
    ">80": lambda turns: turns > 80,
}
"""Classes of runs by their number of turns (assistant messages)."""

CostRow = dict[str, Any]
FiguresBySetting = Mapping[ReplaySetting, Sequence[Figures]]
"""The figures of every run, in order, under each setting; one strategy is `none`."""
At = Mapping[Prices, Sequence[Figures]]
"""The figures of runs under one strategy: at each price if it depends on the price, else at the first."""


def rows(found: FiguresBySetting, runs: Sequence[Trajectory], prices: Sequence[Prices]) -> list[CostRow]:
    """One row for each strategy.

    A run with a call that no view can serve counts under `refused_runs` and nowhere else but in `by_run`. A strategy
    that depends on the price has one setting for each price: its tokens are those at the first price, and `by_price`
    has all.
    """
    by_strategy: dict[str, dict[Prices, Sequence[Figures]]] = {}
    for setting, figures in found.items():
        by_strategy.setdefault(setting.strategy, {})[setting.prices] = figures
    limit = next(iter(found)).limit
    raw = by_strategy[RAW_AGENT]
    refused = {at for figures in found.values() for at, one in enumerate(figures) if one.refused}
    sent = [at for at in range(len(runs)) if at not in refused]
    classes = {name: [at for at in sent if holds(runs[at].turns)] for name, holds in CLASSES.items()}

    def entry(of: At, places: Sequence[int]) -> CostRow:
        return _entry(_sums(of, places), prices) | {"spread": _spread(of, raw, places, prices)}

    def one(of: At, at: int) -> CostRow:
        changes = {str(price.cached): change(of, raw, at, price) for price in prices}
        repaired = runs[at].repaired
        mended = {
            "repairs": len(repaired.notes),
            "characters_mended": repaired.touched,
            "characters_left_out": repaired.lost,
        }
        return (
            {"run": runs[at].name, "turns": runs[at].turns}
            | mended
            | _entry(_sums(of, [at]), prices)
            | {"change": changes}
        )

    return [
        {"strategy": strategy, "budget": None if limit == UNLIMITED else limit}
        | entry(of, sent)
        | {"by_turns": {name: entry(of, places) for name, places in classes.items()}}
        | {"refused_runs": entry(of, sorted(refused))}
        | {"by_run": [one(of, at) for at in range(len(runs))]}
        for strategy, of in by_strategy.items()
    ]


def change(of: At, raw: At, at: int, price: Prices) -> float | None:
    """The change of the cost of one run against `none`, in percent; None if nothing was sent."""
    before, after = (_at(each, price)[at].cost(price) for each in (raw, of))
    return 100 * (after / before - 1) if before else None


def table(rows: Sequence[CostRow]) -> Iterator[CostRow]:
    """A flat record for each strategy, run and price of a cached token, as in `--csv`."""
    for row in rows:
        for one in row["by_run"]:
            for price, cost in one["cost"].items():
                tokens = one.get("by_price", {}).get(price, one)
                head = {"strategy": row["strategy"], "run": one["run"], "turns": one["turns"], "cached_price": price}
                yield (
                    head | {key: tokens[key] for key in FIGURE_COLUMNS} | {"cost": cost, "change": one["change"][price]}
                )


def _at(of: At, price: Prices) -> Sequence[Figures]:
    return of.get(price) or next(iter(of.values()))


def _sums(of: At, places: Sequence[int]) -> dict[Prices, Figures]:
    return {price: sum((figures[at] for at in places), Figures()) for price, figures in of.items()}


def _spread(of: At, raw: At, places: Sequence[int], prices: Sequence[Prices]) -> CostRow:
    """By price, five percentages over the runs: least change, lower quartile, median, upper quartile, most."""
    spread = {}
    for price in prices:
        changes = [found for at in places if (found := change(of, raw, at, price)) is not None]
        middle = quantiles(changes, method="inclusive") if len(changes) > 1 else changes * 3
        spread[str(price.cached)] = [min(changes), *middle, max(changes)] if changes else None
    return spread


def _entry(at: Mapping[Prices, Figures], prices: Sequence[Prices]) -> CostRow:
    first = at[prices[0]]
    entry = _tokens(first) | {"cost": {str(price.cached): at.get(price, first).cost(price) for price in prices}}
    if first.history_tokens:
        entry["observation_share"] = first.observation_tokens / first.history_tokens
    if first.acted:
        entry["agreement"] = first.agreement / first.acted
    if len(at) > 1:
        entry["by_price"] = {str(price.cached): _tokens(at[price]) for price in prices}
    return entry


FIGURE_COLUMNS: Mapping[str, Callable[[Figures], int]] = {
    "calls": lambda figures: figures.calls,
    "refused": lambda figures: figures.refused,
    "prompt_tokens": lambda figures: figures.prompt_tokens,
    "prefill_tokens": lambda figures: figures.prefill_tokens,
    "over_budget": lambda figures: figures.over_budget,
    "edits": lambda figures: figures.edits,
    "side_calls": lambda figures: figures.side_calls,
    "side_tokens": lambda figures: figures.side_prompt_tokens + figures.side_output_tokens,
}


def _tokens(figures: Figures) -> CostRow:
    return {"runs": figures.runs} | {key: of(figures) for key, of in FIGURE_COLUMNS.items()}
