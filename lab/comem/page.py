"""The simulation as a report: seconds and speedups, as printed and as simulated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from itertools import groupby

from lab.comem.cells import Cell
from lab.comem.tables import title
from lab.page import Report
from lab.report.drawing import Series


def page(cells: Sequence[Cell], command: str) -> Report:
    """The page of these cells."""
    report = Report("The servers of CoMem, simulated", command, "nothing: a discrete-event simulation of two servers")
    for (part, agent, offload), group in groupby(cells, key=lambda cell: (cell.part, cell.agent, cell.offload)):
        shown, what = list(group), title(part, agent, offload)
        batches = sorted({cell.batch for cell in shown})
        if len(batches) > 1:
            series = {name: [cell.simulated for cell in shown if cell.memory == name] for name in _names(shown)}
            report.lines(what, ("agents", batches), series, unit="simulated seconds until the last agent has ended")
        else:
            speedups: Series = {
                "paper": [cell.printed_speedup for cell in shown],
                "simulated": [cell.speedup for cell in shown],
            }
            report.bars(what, ("memory", _names(shown)), speedups, unit="times as fast as the full context")
    report.table("All cells", [asdict(cell) for cell in cells])
    return report


def _names(cells: Sequence[Cell]) -> list[str]:
    return list(dict.fromkeys(cell.memory for cell in cells))
