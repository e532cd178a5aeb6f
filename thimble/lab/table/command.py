"""Compare strategies by rows of outcomes: rates, costs and paired differences, with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from thimble.lab.experiment_flags import add_output
from thimble.lab.findings import Findings, ResultTable, publish
from thimble.lab.table.outcomes import OutcomeRow, chosen, compared, notes, outcomes
from thimble.session.parser import Parser

TABLE_EPILOG = """\
FILE is CSV, gzipped or not, with the columns instance, strategy, solved (1 or 0) and cost, a row for each instance
under each strategy.
"""
INTERVALS = "In brackets: 95 % intervals, Wilson's for the share solved, a bootstrap over instances for the others."
DIFFERENCE_COLUMNS = ("strategy", "pairs", "Δ solved, points", "p", "Holm", "Δ cost", "p", "Holm")


def main(arguments: Sequence[str], prog: str) -> None:
    """Print the rows of the strategies.

    Raises:
        UsageError: a flag, the file, a record, or the baseline.
    """
    parser = Parser(prog, description=__doc__, epilog=TABLE_EPILOG, allow_abbrev=False)
    parser.add_argument("file", type=Path, metavar="FILE", help="rows of outcomes")
    parser.add_argument("--baseline", metavar="NAME", help="the strategy to compare with; default: the first in FILE")
    add_output(parser)
    options = parser.parse_args(arguments)
    found = outcomes(options.file)
    baseline = chosen(found, options.baseline)
    publish(findings(compared(found, baseline), baseline), options, prog, arguments)


def findings(rows: Sequence[OutcomeRow], baseline: str) -> Findings:
    """What is shown of the rows of the strategies."""
    return Findings(
        f"Strategies against {baseline}",
        [f"{INTERVALS} Δ is against {baseline}."],
        [
            ResultTable("Rates and costs", ("strategy", "instances", "solved, %", "cost"), [*map(_rates, rows)]),
            difference_table("Differences", rows),
        ],
        rows,
        after=list(notes(rows, baseline)),
    )


def _rates(row: OutcomeRow) -> list[str]:
    return [row["strategy"], f"{row['instances']:,}", _interval(row, "solved", "z.1f"), _interval(row, "cost", ".4g")]


def difference_table(title: str, rows: Sequence[OutcomeRow], told: str = "") -> ResultTable:
    """The differences of those strategies that share an instance with the baseline."""
    return ResultTable(title, DIFFERENCE_COLUMNS, [_differences(row) for row in rows if row["pairs"]], told)


def _differences(row: OutcomeRow) -> list[str]:
    shown = [row["strategy"], f"{row['pairs']:,}"]
    for measure, form in (("solved", "+z.1f"), ("cost", "+.4g")):
        if row[f"{measure}_p"] is None:
            shown += "???"
            continue
        shown.append(_interval(row, f"{measure}_difference", form))
        shown += [f"{row[f'{measure}_p']:.4f}", f"{row[f'{measure}_p_holm']:.4f}"]
    return shown


def _interval(row: OutcomeRow, name: str, form: str) -> str:
    return f"{row[name]:{form}} [{row[f'{name}_low']:{form}}, {row[f'{name}_high']:{form}}]"
