"""The sheets of a sweep over questions: right answers of each dialogue, and what its prompts cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

from agent.budget import Prices
from lab.questions import Mark, Setting
from lab.sweep.grid import Grid
from lab.sweep.sheet import Cell, Measure, Sheet, Value

RIGHT = Measure("right", "right answers of a dialogue, %", ".1f", "+z.2f", sign=-1)
COST = Measure("cost", "cost of the prompts of a dialogue, in computed tokens", ",.0f", "+,.0f")


def sheets(
    grids: Sequence[Grid], marks: Mapping[Setting, Sequence[Mark]], budgets: Sequence[int], prices: Sequence[Prices]
) -> list[Sheet]:
    """For each budget and grid, a sheet of right answers, and one of the cost at each price.

    The score of a dialogue is over all its scored exchanges, since they depend on each other. Tokens that a strategy's
    model writes are not counted in the cost.
    """
    every = product(budgets, grids, [None, *prices])
    return [_sheet(grid, marks, budget, price) for budget, grid, price in every]


def _sheet(grid: Grid, marks: Mapping[Setting, Sequence[Mark]], budget: int, price: Prices | None) -> Sheet:
    def cell(spec: str) -> Cell:
        return _cell(spec, marks[Setting(spec, budget)], price)

    condition: dict[str, Value] = {"budget": budget, "cached_price": price.cached if price else None}
    dialogues = list(_dialogues(marks[Setting(grid.default, budget)]))
    cells = {at: cell(spec) for at, spec in grid.settings()}
    return Sheet(grid, condition, COST if price else RIGHT, dialogues, cells, cell(grid.default))


def _cell(spec: str, marks: Sequence[Mark], price: Prices | None) -> Cell:
    scores = [_cost(each, price) if price else _right(each) for each in _dialogues(marks).values()]
    right = sum(mark.right for mark in marks)
    return Cell(spec, scores, {"answers": len(marks), "right": right, "turns": sum(mark.turns for mark in marks)})


def _dialogues(marks: Sequence[Mark]) -> dict[str, list[Mark]]:
    found: dict[str, list[Mark]] = {}
    for mark in marks:
        found.setdefault(mark.question, []).append(mark)
    return found


def _right(marks: Sequence[Mark]) -> float:
    return 100 * sum(mark.right for mark in marks) / len(marks)


def _cost(marks: Sequence[Mark], price: Prices) -> float:
    cost = 0.0
    for mark in marks:
        assert mark.tokens is not None, "the reader counts its tokens"
        assert mark.prefill is not None
        cost += price.prompt(mark.tokens, mark.tokens - mark.prefill)
    return cost
