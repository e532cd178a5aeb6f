"""Compare strategies over the same instances, from rows of outcomes: The Complexity Trap's or your own."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from thimble.agent.errors import UsageError, did_you_mean
from thimble.lab.csv_records import read_csv
from thimble.lab.experiment import Experiment, Row, Rows, group_rows, hash_of, run_experiment
from thimble.lab.findings import Findings, ResultTable, svg_of_boxes, svg_of_points
from thimble.lab.table.outcomes import (
    FEW_PAIRS,
    correct_p_values,
    difference,
    difference_table,
    strategy_rates,
    with_interval,
)

OUTCOME_COLUMNS = ("instance", "strategy", "solved", "cost")
NAMED_INSTANCES = 20
"""The maximum instances that a line names."""


@dataclass(frozen=True, slots=True)
class StrategyOutcomes:
    """The outcomes of a strategy and of the baseline."""

    rows: Rows
    base: Rows

    @property
    def key(self) -> str:
        """A hash of all rows."""
        return hash_of([self.rows, self.base])

    @property
    def size(self) -> int:
        """The number of rows."""
        return len(self.rows)


class OutcomesTable(Experiment[StrategyOutcomes]):
    """Compare strategies by rows of outcomes: rates, costs and paired differences, with their intervals."""

    epilog = """\
FILE is CSV, gzipped or not, with the columns instance, strategy, solved (1 or 0) and cost, and optionally turns; one
row for each instance under each strategy.
"""
    verb = "compared"

    def add_flags(self, parser: argparse.ArgumentParser) -> None:
        """Add the file and the baseline."""
        add = parser.add_argument
        add("file", type=Path, metavar="FILE", help="rows of outcomes")
        add("--baseline", metavar="NAME", help="the strategy to compare with; default: the first in FILE")

    def cases(self, options: argparse.Namespace) -> list[StrategyOutcomes]:
        """A case for each strategy."""
        found = group_rows(read_outcomes(options.file), "strategy")
        names = [name for (name,) in found]
        baseline = options.baseline = options.baseline or names[0]
        if baseline not in names:
            rest = f"the file has {', '.join(names)[:200]}"
            raise UsageError(f"there is no strategy {baseline[:60]!r}", did_you_mean(baseline, names, rest))
        return [StrategyOutcomes(rows, found[baseline,]) for rows in found.values()]

    def measure(self, case: StrategyOutcomes) -> list[Row]:
        """The rates of a strategy, in percent, and its differences from the baseline."""
        return [{"strategy": case.rows[0]["strategy"], **strategy_rates(case.rows), **difference(case.rows, case.base)}]

    def report(self, rows: Rows, options: argparse.Namespace) -> Findings:
        """Rates and costs, and differences, with corrected p values."""
        rows = correct_p_values(rows)
        told = (
            "In brackets: 95 % intervals, Wilson's for the share solved, a bootstrap over instances for the others. "
            f"Δ is against {options.baseline}."
        )
        means = [name for name in ("cost", "turns") if name in rows[0]]
        cells = [
            [
                row["strategy"],
                f"{row['instances']:,}",
                with_interval(row, "solved", "z.1f"),
                *(with_interval(row, name, ".4g") for name in means),
                *([f"{row['turns_box'][2]:.4g}"] if "turns" in means else []),
            ]
            for row in rows
        ]
        columns = ("strategy", "instances", "solved, %", *means, *["turns, median"] * ("turns" in means))
        points = {row["strategy"]: (row["cost"], row["solved"]) for row in rows}
        boxes = {row["strategy"]: row["turns_box"] for row in rows if "turns_box" in row}
        return Findings(
            "Strategies over the same instances",
            [told],
            [ResultTable("Rates and costs", columns, cells), difference_table("Differences", rows)],
            rows,
            [*_warn(rows, options.baseline)],
            {  # as in Figures 2 and 4 of The Complexity Trap
                "Cost against solve rate": svg_of_points({"": points}, "cost", "solved, %"),
                "Turns": svg_of_boxes({"": boxes}, "turns"),
            },
        )


def _warn(rows: Rows, baseline: str) -> Iterator[str]:
    """The instances that are left out of the differences, and warnings about few pairs."""
    for row in rows:
        names, of = row["unpaired"], row["strategy"]
        if names:
            rest = len(names) - NAMED_INSTANCES
            more = f" and {rest:,} more (--json names all)" if rest > 0 else ""
            named = ", ".join(names[:NAMED_INSTANCES])
            yield f"Only {of} or only {baseline} has {named}{more}: left out of Δ."
        if of != baseline and row["pairs"] < FEW_PAIRS:
            yield f"{of} has {row['pairs']} pairs: so few make the interval of Δ too narrow and p too small."


def read_outcomes(path: Path) -> list[Row]:
    """Read the rows of a file.

    Raises:
        UsageError: the file or a value is invalid, an instance occurs twice, or there are no rows.
    """
    found: dict[tuple[str, str], Row] = {}
    for record in read_csv(path, OUTCOME_COLUMNS):
        strategy, instance = record.name("strategy"), record.name("instance")
        if (strategy, instance) in found:
            raise UsageError(f"{record.place}: {strategy} already has {instance}", "give each instance once")
        found[strategy, instance] = {
            "strategy": strategy,
            "instance": instance,
            "solved": 100.0 * record.truth("solved"),
            **{name: record.number(name) for name in ("cost", "turns") if name in record.fields},
        }
    if not found:
        raise UsageError(f"{path} has no rows", "give a row for each instance and strategy")
    return [*found.values()]


main = partial(run_experiment, OutcomesTable())
