"""Compute tables for the figures of the papers, which print no numbers, and the list of all experiments.

A row is a model under a strategy; all tables share a few columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from scripts.paper_tables.cells import Cell
from scripts.paper_tables.printed import (
    COST,
    COST_WITHOUT,
    MASKING,
    MEDIAN,
    RAW,
    SOLVED,
    SUMMARY,
    TABLES,
    THINKING,
    TURNS,
)
from scripts.paper_tables.published import CODER, EXPERIMENTS, FIFTY, OPENHANDS, OPENHANDS_500
from scripts.paper_tables.recomputed import Recomputed
from thimble.lab.findings import svg_of_boxes, svg_of_points
from thimble.lab.table.outcomes import box


@dataclass(frozen=True, slots=True)
class RowTable:
    """A table with a row for each strategy of its models, or only the named one, against the baseline."""

    title: str
    models: tuple[str, ...]
    columns: tuple[str, ...]
    strategy: str = ""
    baseline: str = RAW


def _difference(of: Recomputed, strategy: str, baseline: str, measure: str, decimals: int) -> str:
    found, form = of.compared(strategy, measure, baseline), f"+z.{decimals}f"
    return f"{found.difference:{form}} [{found.low:{form}}, {found.high:{form}}], p {found.p:.4f}"


def _share(of: Recomputed, strategy: str, baseline: str, sign: int) -> str:
    """The percentage of runs that are longer (`sign` 1) or shorter (-1) than the baseline's."""
    pairs = of.pairs(strategy, TURNS, baseline)
    return f"{100 * sum(sign * pair > 0 for pair in pairs) / len(pairs):.1f}"


def _unbeaten(of: Recomputed, strategy: str) -> str:
    """Whether no other strategy solves at least as many at no higher mean cost."""
    cost, solved = of.mean(strategy, COST), of.mean(strategy, SOLVED)
    others = (other for other in of.runs if other != strategy)
    beaten = any(of.mean(other, COST) <= cost and of.mean(other, SOLVED) >= solved for other in others)
    return "" if beaten else "yes"


def _fed(model: str, strategy: str) -> Iterator[str]:
    """The tables with a row for this strategy."""
    for name, table in TABLES.items():
        if any(key[:2] == (model, strategy) for key in table.cells()):
            yield name
    yield from (
        name for name, figure in FIGURES.items() if model in figure.models and figure.strategy in ("", strategy)
    )


OF_EACH: Mapping[str, Callable[[Recomputed, str], str]] = {
    "rows": lambda of, strategy: str(len(of.runs[strategy])),
    SOLVED: lambda of, strategy: f"{of.mean(strategy, SOLVED):.1f}",
    COST: lambda of, strategy: f"{of.mean(strategy, COST):.2f}",
    TURNS: lambda of, strategy: f"{of.mean(strategy, TURNS):.1f}",
    MEDIAN: lambda of, strategy: f"{np.median([*of.values(strategy, TURNS).values()]):g}",
    THINKING: lambda of, strategy: f"{of.mean(strategy, THINKING):.1f}",
    "on the frontier": _unbeaten,
    "experiment": lambda of, strategy: EXPERIMENTS[of.model].get(strategy, f"50 of the rows of {CODER}"),
    "has a row in": lambda of, strategy: ", ".join(_fed(of.model, strategy)),
}
"""The value of each column for a strategy."""
OF_CHANGE: Mapping[str, Callable[[Recomputed, str, str], str]] = {
    "Δ solve rate, points": lambda *of: _difference(*of, SOLVED, 1),
    "Δ cost, $": lambda *of: _difference(*of, COST, 2),
    "Δ cost without summaries, $": lambda *of: _difference(*of, COST_WITHOUT, 2),
    "Δ turns": lambda *of: _difference(*of, TURNS, 1),
    "Δ turns, %": lambda of, strategy, base: f"{100 * (of.mean(strategy, TURNS) / of.mean(base, TURNS) - 1):+.1f}",
    "longer, %": lambda *of: _share(*of, 1),
    "shorter, %": lambda *of: _share(*of, -1),
}
"""The value of each column for a strategy and its baseline."""

_MAIN = tuple(dict.fromkeys(model for model, _, _ in TABLES["1"].cells()))
_TRADE = ("rows", SOLVED, "Δ solve rate, points", COST, "Δ cost, $", "on the frontier")
FIGURES: Mapping[str, RowTable] = {
    "figure-2": RowTable("Figure 2: cost against solve rate in SWE-agent", _MAIN, _TRADE),
    "figure-4": RowTable(
        "Figure 4: turns in SWE-agent", _MAIN, (TURNS, MEDIAN, "Δ turns, %", "Δ turns", "longer, %", "shorter, %")
    ),
    "direct": RowTable(
        f"{SUMMARY} against {MASKING} in SWE-agent",
        _MAIN,
        ("Δ solve rate, points", "Δ cost, $", "Δ cost without summaries, $", "Δ turns"),
        SUMMARY,
        MASKING,
    ),
    "figure-10": RowTable(
        "Figure 10: cost against solve rate in OpenHands, with masking from M = 10 to 86",
        (OPENHANDS,),
        (*_TRADE, TURNS, MEDIAN, THINKING),
    ),
    "openhands-500": RowTable("OpenHands on 500 instances", (OPENHANDS_500,), (*_TRADE, TURNS, MEDIAN)),
    "hybrid-n": RowTable("The hybrid with N = 43 and N = 21 on 50 instances", (FIFTY,), (*_TRADE, TURNS)),
}
ROW_TABLES: Mapping[str, RowTable] = {
    **FIGURES,
    "experiments": RowTable(
        "Which experiment feeds which table", (*EXPERIMENTS,), ("experiment", "rows", THINKING, "has a row in")
    ),
}
DRAWN = ("figure-2", "figure-4", "figure-10")
"""The tables that have a picture."""


def picture(models: Mapping[str, Recomputed], table: str) -> str:
    """Figure 2, 4 or 10 as SVG: cost against solve rate, or turns; "" for another table."""
    found = {model: models[model] for model in (ROW_TABLES[table].models if table in DRAWN else ())}
    if table == "figure-4":
        turns = {
            model: {name: box([*of.values(name, TURNS).values()]) for name in of.runs} for model, of in found.items()
        }
        return svg_of_boxes(turns, TURNS)
    named = "M = 10" if table == "figure-10" else MASKING
    means = {
        model: {
            name.removeprefix(f"{MASKING}, ") if name != MASKING else named: (
                of.mean(name, COST),
                of.mean(name, SOLVED),
            )
            for name in of.runs
        }
        for model, of in found.items()
    }
    return svg_of_points(means, COST, SOLVED)


def row_cells(models: Mapping[str, Recomputed], table: str) -> Iterator[Cell]:
    """Every cell of a table, in order of its rows."""
    made = ROW_TABLES[table]
    for of in (models[model] for model in made.models):
        for strategy in [made.strategy] if made.strategy else of.runs:
            for column in made.columns:
                if column in OF_EACH:
                    text = OF_EACH[column](of, strategy)
                else:
                    text = "" if strategy == made.baseline else OF_CHANGE[column](of, strategy, made.baseline)
                yield Cell(table, of.model, strategy, column, "", text, "", "")
