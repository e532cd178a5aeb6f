"""Recompute the tables of The Complexity Trap from its published rows, or do their statistics on rows of your own."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Literal

from agent.errors import UsageError
from lab import findings as forms
from lab.report.flag import add_report
from lab.table import cells, page, rows
from lab.table.printed import TABLES
from lab.table.published import runs
from lab.table.recomputed import Recomputed
from lab.table.records import read
from session.parser import Parser

EPILOG = """\
FILE is CSV, gzipped or not. The published table of The Complexity Trap is known by its columns. Rows of your own have
the columns instance, strategy, solved (1 or 0) and cost, a row for each instance under each strategy.
docs/results/paper-tables.md explains the figures.
"""
CELLS = ("model", "strategy", "column", "printed", "recomputed", "verdict", "reason")
RATES = ("strategy", "instances", "solved, %", "cost")
INTERVALS = "In brackets: 95 % intervals, Wilson's for the share solved, a bootstrap over instances for the others."
DIFFERENCES = ("strategy", "pairs", "Δ solved, points", "p", "Holm", "Δ cost", "p", "Holm")


def main(arguments: Sequence[str], prog: str) -> None:
    """Print the cells of the paper, or the rows of the strategies.

    Raises:
        UsageError: a flag, the file, a record, or the baseline.
    """
    options = _parser(prog).parse_args(arguments)
    options.command = shlex.join([*prog.split(), *arguments])
    columns, records = read(options.file)
    if {"experiment", "scaffold"} <= set(columns):
        if options.baseline:
            raise UsageError("--baseline is for rows of your own", "leave it out: the paper compares with Raw Agent")
        _paper({model: Recomputed(of) for model, of in runs(options.file, columns, records).items()}, options)
    else:
        if options.table:
            raise UsageError("--table is for the published rows", "leave it out for rows of your own")
        _own(rows.outcomes(options.file, columns, records), options)


def _parser(prog: str) -> Parser:
    parser = Parser(prog, description=__doc__, epilog=EPILOG, allow_abbrev=False)
    parser.add_argument("file", type=Path, metavar="FILE", help="the published rows, or rows of your own")
    parser.add_argument("--table", choices=TABLES, help="one table of the paper; default: all")
    parser.add_argument("--baseline", metavar="NAME", help="the strategy to compare with; default: the first in FILE")
    forms.add_forms(
        parser,
        json="a JSON list: a cell, or a strategy, in each object",
        csv="a line for each cell, or each strategy",
        markdown="tables in Markdown",
    )
    add_report(parser)
    return parser


# --- the paper --------------------------------------------------------------------------------------------------------


def _paper(models: Mapping[str, Recomputed], options: argparse.Namespace) -> None:
    made = {name: [*cells.cells(models, name)] for name in ([options.table] if options.table else TABLES)}
    flat = [asdict(cell) for found in made.values() for cell in found]
    if options.report:
        page.of_paper({title(name): found for name, found in made.items()}, options.command).write(options.report)
    if options.json:
        forms.print_json(flat)
    elif options.csv:
        forms.print_csv(flat)
    else:
        if not options.markdown:
            print(f"{cells.MEANING}\n")
        for name, found in made.items():
            notes = cells.notes(models, name)
            _in_markdown(name, found, notes) if options.markdown else _in_terminal(name, found, notes)


def title(name: str) -> str:
    """What a table of the paper is called."""
    return f"Table {name}. {TABLES[name].title}" if name.isdigit() else TABLES[name].title


def _in_markdown(name: str, found: Sequence[cells.Cell], notes: Iterable[str]) -> None:
    shown = ([getattr(cell, column) for column in CELLS] for cell in found)
    print(f"## {title(name)}\n", *forms.markdown(CELLS, shown), "", sep="\n")
    for note in notes:
        print(f"{note}\n")


def _in_terminal(name: str, found: Sequence[cells.Cell], notes: Iterable[str]) -> None:
    """Each model is a line of its own, and the reasons stand below."""
    shown = []
    for model, of in groupby(found, attrgetter("model")):
        shown.append([model])
        shown += [[f"  {cell.strategy}", cell.column, cell.printed, cell.recomputed, cell.verdict] for cell in of]
    print(f"{title(name)}\n")
    _draw(["", "", "printed", "recomputed", ""], shown, "left")
    print()
    for cell in found:
        if cell.reason:
            print(f"{cell.verdict}: {cell.model}, {cell.strategy}, {cell.column}: {cell.reason}")
    print(*notes, "", sep="\n")


# --- rows of one's own ------------------------------------------------------------------------------------------------


def _own(found: rows.Outcomes, options: argparse.Namespace) -> None:
    baseline = rows.chosen(found, options.baseline)
    made = rows.compared(found, baseline)
    if options.report:
        page.of_rows(made, baseline, options.command).write(options.report)
    if options.json:
        forms.print_json(made)
    elif options.csv:
        forms.print_csv([row | {"unpaired": " ".join(row["unpaired"])} for row in made])
    else:
        print(f"{INTERVALS} Δ is against {baseline}.\n")
        paired = [row for row in made if row["pairs"]]
        for columns, shown in ((RATES, [*map(_rates, made)]), (DIFFERENCES, [*map(_differences, paired)])):
            if options.markdown:
                print(*forms.markdown(columns, shown, columns[1:]), sep="\n")
            else:
                _draw(columns, shown, "right")
            print()
        print(*(f"{note}\n" for note in rows.notes(made, baseline)), sep="", end="")


def _rates(row: rows.Row) -> list[str]:
    return [row["strategy"], f"{row['instances']:,}", _interval(row, "solved", "z.1f"), _interval(row, "cost", ".4g")]


def _differences(row: rows.Row) -> list[str]:
    shown = [row["strategy"], f"{row['pairs']:,}"]
    for measure, form in (("solved", "+z.1f"), ("cost", "+.4g")):
        shown.append(_interval(row, f"{measure}_difference", form))
        shown += [f"{row[f'{measure}_p']:.4f}", f"{row[f'{measure}_p_holm']:.4f}"]
    return shown


def _interval(row: rows.Row, name: str, form: str) -> str:
    return f"{row[name]:{form}} [{row[f'{name}_low']:{form}}, {row[f'{name}_high']:{form}}]"


def _draw(columns: Sequence[str], shown: Iterable[Sequence[str]], justify: Literal["left", "right"]) -> None:
    """Print a table whose cells are folded where the terminal is narrow."""
    from rich.text import Text

    table = forms.drawn(columns)
    for column in table.columns[1:]:
        column.justify, column.no_wrap, column.overflow = justify, False, "fold"
    for row in shown:
        table.add_row(*map(Text, row))
    forms.console().print(table)
