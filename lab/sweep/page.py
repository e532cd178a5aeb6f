"""A sweep as a report: a heat map or lines for each map, the best settings, and all settings as tables."""

from __future__ import annotations

from collections.abc import Sequence

from lab.page import Report
from lab.sweep import records
from lab.sweep.maps import BUDGET, Map, maps
from lab.sweep.sheet import Best, Sheet
from lab.sweep.sweep_tables import MEANING, best_table


def page(sheets: Sequence[Sheet], bests: Sequence[Best], command: str, measured_on: str) -> Report:
    """The page of these sheets."""
    report = Report("Settings of strategies", command, measured_on)
    for one in maps(sheets):
        _heat(report, one) if one.columns else _line(report, one)
    best = best_table(bests)
    report.table(best.title, [dict(zip(best.columns, row, strict=True)) for row in best.rows], caption=MEANING)
    report.table("All settings", [_known(line) for line in records.lines(bests)])
    return report


def _known(line: records.Record) -> records.Record:
    """A line without the conditions that say nothing; no budget is a value."""
    return {name: value for name, value in (line | {BUDGET: line[BUDGET] or "none"}).items() if value is not None}


def _heat(report: Report, one: Map) -> None:
    assert one.columns
    values = [[one.cells[row, column].mean for column in one.columns[1]] for row in one.rows[1]]
    report.heat(one.title, one.rows, one.columns, values, unit=one.measure.unit)


def _line(report: Report, one: Map) -> None:
    """A line with its band; bars where a value is no number."""
    cells = [one.cells[value, ""] for value in one.rows[1]]
    intervals = {one.measure.name: [cell.interval for cell in cells]}
    series = {one.measure.name: [cell.mean for cell in cells]}
    numbers = [_number(value) for value in one.rows[1]]
    if None in numbers:
        report.bars(one.title, one.rows, series, intervals, unit=one.measure.unit)
    else:
        report.lines(one.title, (one.rows[0], numbers), series, intervals, unit=one.measure.unit)


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None
