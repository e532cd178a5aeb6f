"""The sheets of a sweep as records, one for each cell and each default: those of `--json` and of `--csv`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from thimble.lab.sweep.sheet import Best


def records(bests: Sequence[Best]) -> Iterator[dict[str, Any]]:
    """`best` is 1 for the best cell of a sheet, `default` for its default; `p` and `verdict` compare it with the best.

    `scores` are in the order of `runs`.
    """
    for best in bests:
        sheet = best.sheet
        rivals = {id(rival.cell): rival for rival in best.rivals.values()}
        for cell in (*sheet.cells.values(), sheet.default):
            low, high = cell.interval
            rival = rivals.get(id(cell))
            yield {
                "grid": sheet.grid.text,
                **sheet.condition,
                "strategy": cell.spec,
                "mean": cell.mean,
                "low": low,
                "high": high,
                "best": int(cell is best.cell),
                "default": int(cell is sheet.default),
                "p": rival and rival.corrected,
                "verdict": rival and rival.verdict,
                **cell.more,
                "runs": list(sheet.runs),
                "scores": list(cell.scores),
            }
