"""The sheets of a sweep over runs: the change of the cost of each run against sending everything."""

from __future__ import annotations

from collections.abc import Sequence

from thimble.agent.budget import UNLIMITED, Prices
from thimble.lab.replay.cost_tables import headline
from thimble.lab.replay.costs import RAW_AGENT, CostRow, FiguresBySetting, rows
from thimble.lab.replay.trajectories import Trajectory
from thimble.lab.sweep.grid import Grid
from thimble.lab.sweep.sheet import GridCell, Sheet, Value

SUMMED_AMOUNTS = ("prompt_tokens", "prefill_tokens", "edits", "side_calls")


def run_sheets(
    grids: Sequence[Grid],
    found: FiguresBySetting,
    runs: Sequence[Trajectory],
    prices: Sequence[Prices],
    apart: bool = False,
) -> tuple[list[Sheet], list[str]]:
    """A sheet for each budget, lag, price and grid, and what the runs are, a line for each budget.

    A run with a call that no view can serve, under any of the settings, is in no sheet of that budget and lag. `apart`:
    a sheet of its own for each run, by its turns.
    """
    made: list[Sheet] = []
    lags = {setting.lag for setting in found}
    told = []
    for limit, lag in dict.fromkeys((setting.limit, setting.lag) for setting in found):
        under = {setting: figures for setting, figures in found.items() if (setting.limit, setting.lag) == (limit, lag)}
        table = {row["strategy"]: row for row in rows(under, runs, prices)}
        told.append(headline(table[RAW_AGENT]))
        sent = _sent(list(table.values()))
        budget = None if limit == UNLIMITED else limit
        for places in [[at] for at in sent] if apart else [sent] if sent else []:
            turns = {"turns": runs[places[0]].turns} if apart else {}
            for grid in grids:
                for price in prices:
                    condition = {
                        "budget": budget,
                        "lag": lag if lags != {0} else None,
                        **turns,
                        "cached_price": price.cached,
                    }
                    made.append(_sheet(grid, condition, table, places, price))
    return made, list(dict.fromkeys(told))


def _sent(table: Sequence[CostRow]) -> list[int]:
    """The runs of which each call was sent under each setting, and there was one."""
    by_run = zip(*(row["by_run"] for row in table), strict=True)
    return [at for at, each in enumerate(by_run) if all(one["calls"] and not one["refused"] for one in each)]


def _sheet(
    grid: Grid,
    condition: dict[str, Value],
    table: dict[str, CostRow],
    places: Sequence[int],
    price: Prices,
) -> Sheet:
    key = str(price.cached)

    def cell(spec: str) -> GridCell:
        every, raw = ([table[name]["by_run"][at] for at in places] for name in (spec, RAW_AGENT))
        amounts = [one.get("by_price", {}).get(key, one) for one in every]
        together, sending = (sum(one["cost"][key] for one in each) for each in (every, raw))
        more = {"all_tokens": 100 * (together / sending - 1)}
        return GridCell(
            spec,
            [one["change"][key] for one in every],
            more | {name: sum(one[name] for one in amounts) for name in SUMMED_AMOUNTS},
        )

    names = [table[RAW_AGENT]["by_run"][at]["run"] for at in places]
    return Sheet(grid, condition, names, {at: cell(spec) for at, spec in grid.settings()}, cell(grid.default))
