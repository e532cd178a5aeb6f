"""The tables as a report: the cells of the paper, or the rates, costs and differences of anybody's rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from lab.page import Report
from lab.table.cells import MEANING, Cell
from lab.table.rows import MEASURES, Row

UNITS = {"solved": "points", "cost": "the unit of the costs"}


def of_paper(tables: Mapping[str, Sequence[Cell]], command: str) -> Report:
    """Each table with its cells, printed and recomputed, and how many of them agree."""
    report = Report("The tables of The Complexity Trap, recomputed", command, "the published rows of the paper")
    report.text(MEANING)
    verdicts = list(dict.fromkeys(cell.verdict for found in tables.values() for cell in found))
    counts = {word: [sum(cell.verdict == word for cell in found) for found in tables.values()] for word in verdicts}
    names = [title.partition(".")[0].partition(":")[0] for title in tables]
    report.bars("Cells by verdict", ("table", names), counts, unit="cells")
    for title, found in tables.items():
        report.table(title, [asdict(cell) for cell in found])
    return report


def of_rows(rows: Sequence[Row], baseline: str, command: str) -> Report:
    """The differences from a baseline with their intervals, and all figures."""
    instances = next(row["instances"] for row in rows if row["strategy"] == baseline)
    report = Report(f"Strategies against {baseline}", command, f"{instances:,} instances of {baseline}")
    report.text(
        "The whisker is the 95 % interval of a bootstrap over the pairs: 10,000 resamples. p is corrected by Holm for "
        "all comparisons of the page. Where a whisker holds 0, the two are not told apart."
    )
    others = [row for row in rows if row["pairs"]]
    names = [row["strategy"] for row in others]
    for measure in MEASURES if others else ():
        name = f"{measure}_difference"
        ends = [(row[f"{name}_low"], row[f"{name}_high"]) for row in others]
        values = {"difference": [row[name] for row in others]}
        report.bars(f"Δ {measure}", ("strategy", names), values, {"difference": ends}, unit=UNITS[measure])
    report.table("All figures", [row | {"unpaired": " ".join(row["unpaired"])} for row in rows])
    return report
