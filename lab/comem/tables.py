"""The cells of the simulation as tables in a terminal: printed seconds, simulated ones, and both speedups."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from lab.comem.cells import Cell
from lab.findings import drawn

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

COLUMNS = ("paper, s", "simulated, s", "paper ×", "simulated ×", "waited, s")


def show(console: Console, cells: Sequence[Cell]) -> None:
    """Print a table for each part, agent and way to offload; Figure 5 has a line for each batch."""
    for (part, agent, offload), group in groupby(cells, key=lambda cell: (cell.part, cell.agent, cell.offload)):
        shown = list(group)
        batches = {cell.batch for cell in shown}
        where = f", {min(batches)} agents" if len(batches) == 1 else ""
        console.print(f"\n{title(part, agent, offload)}{where}\n", highlight=False)
        console.print(_table(shown, many=len(batches) > 1))


def title(part: str, agent: str, offload: bool) -> str:
    """What a table is of."""
    return f"{part}, {agent}, {'with' if offload else 'without'} CPU offload"


def _table(cells: Sequence[Cell], many: bool) -> Table:
    table = drawn(["memory", "agents" if many else "calls", *COLUMNS])
    for cell in cells:
        table.add_row(
            cell.memory,
            str(cell.batch) if many else f"{cell.calls:.2f}",
            _seconds(cell.printed),
            _seconds(cell.simulated),
            _times(cell.printed_speedup),
            _times(cell.speedup),
            _seconds(cell.waited),
        )
    return table


def _seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"


def _times(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}"
