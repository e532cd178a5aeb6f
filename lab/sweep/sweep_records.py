"""The sheets of a sweep as records: an object for each sheet, as in `--json`; a line for each cell, as in `--csv`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from thimble.lab.sweep.sheet import DEFAULT_SETTING, SECOND_BEST, Best, GridCell, Rival, Sheet


def objects(bests: Sequence[Best]) -> Iterator[dict[str, Any]]:
    """A sheet with its best cell, the two comparisons, and all cells with the scores of each run."""
    for best in bests:
        sheet = best.sheet
        yield {
            "grid": sheet.grid.text,
            **sheet.condition,
            "best": best.cell.spec,
            "same": list(best.same),
            **_mean(best.cell),
            "chosen": best.share,
            **{
                name: _rival(best.rivals[name]) if name in best.rivals else None
                for name in (SECOND_BEST, DEFAULT_SETTING)
            },
            "runs": list(sheet.runs),
            "cells": [_cell(sheet, at, cell) | {"scores": list(cell.scores)} for at, cell in sheet.cells.items()],
            "default_cell": _cell(sheet, (), sheet.default) | {"scores": list(sheet.default.scores)},
        }


def lines(bests: Sequence[Best]) -> Iterator[dict[str, Any]]:
    """Each cell and each default, flat. `best` is 1 for the best cell of a sheet, `default` for its default."""
    for best in bests:
        sheet = best.sheet
        for cell in (*sheet.cells.values(), sheet.default):
            head = {"grid": sheet.grid.text, **sheet.condition}
            last = {"best": int(cell is best.cell), "default": int(cell is sheet.default), "runs": len(sheet.runs)}
            yield head | {"strategy": cell.spec} | _mean(cell) | last | dict(cell.more)


def _cell(sheet: Sheet, at: Sequence[str], cell: GridCell) -> dict[str, Any]:
    return {
        "strategy": cell.spec,
        "settings": dict(zip(sheet.grid.axes, at, strict=False)),
        **_mean(cell),
        **cell.more,
    }


def _mean(cell: GridCell) -> dict[str, Any]:
    low, high = cell.interval
    return {"mean": cell.mean, "low": low, "high": high}


def _rival(rival: Rival) -> dict[str, Any]:
    return {
        "strategy": rival.cell.spec,
        "difference": rival.found.difference,
        "low": rival.found.low,
        "high": rival.found.high,
        "p": rival.found.p,
        "p_holm": rival.corrected,
        "verdict": rival.verdict,
    }
