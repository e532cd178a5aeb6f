"""Recompute the tables of The Complexity Trap from its published rows, cell by cell.

    python -m scripts.paper_tables FILE               # the tables of docs/results/paper-tables.md
    python -m scripts.paper_tables FILE --table 4

FILE is the published table as CSV, gzipped or not.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, fields
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path

from scripts.paper_tables.cells import MEANING, VERDICTS, Cell, cells, notes
from scripts.paper_tables.figures import DRAWN, ROW_TABLES, picture, row_cells
from scripts.paper_tables.printed import TABLES
from scripts.paper_tables.published import runs
from scripts.paper_tables.recomputed import Recomputed
from thimble.lab.exit_code import exit_code
from thimble.lab.experiment_flags import add_output
from thimble.lab.findings import Findings, ResultTable, publish_findings
from thimble.session.parser import Parser

PROG = "python -m scripts.paper_tables"
STANDALONE = 'xmlns="http://www.w3.org/2000/svg" font-family="sans-serif" style="background: white; color: black"'


def main(arguments: Sequence[str]) -> None:
    """Print the cells of the tables.

    Raises:
        UsageError: a flag, the file, or a record.
    """
    parser = Parser(PROG, description=(__doc__ or "").split("\n")[0], allow_abbrev=False)
    parser.add_argument("file", type=Path, metavar="FILE", help="the published rows")
    parser.add_argument("--table", choices=[*TABLES, *ROW_TABLES], help="one table; default: all")
    parser.add_argument("--pictures", type=Path, metavar="FOLDER", help="also write Figures 2, 4 and 10 as SVG files")
    add_output(parser)
    options = parser.parse_args(arguments)
    models = {model: Recomputed(model, of) for model, of in runs(options.file).items()}
    names = [options.table] if options.table else [*TABLES, *ROW_TABLES]
    made = {name: [*(cells if name in TABLES else row_cells)(models, name)] for name in names}
    tables = [_table(name, of, "\n\n".join(notes(models, name))) for name, of in made.items()]
    counts = [[name, *_counts(made[name])] for name in TABLES if name in made]
    tables.append(ResultTable("Verdicts", ["table", "cells", *VERDICTS], counts))
    flat = [asdict(cell) for of in made.values() for cell in of]
    told = [] if options.markdown else [MEANING]
    pictures = {ROW_TABLES[name].title: picture(models, name) for name in names if name in DRAWN}
    for name in DRAWN if options.pictures else ():
        options.pictures.mkdir(exist_ok=True)
        drawn = picture(models, name).replace("<svg", f"<svg {STANDALONE}", 1)
        (options.pictures / f"{name}.svg").write_text(f"{drawn}\n", "utf-8")
    title = "The tables of The Complexity Trap, recomputed"
    publish_findings(Findings(title, told, tables, flat, pictures=pictures), options, PROG, arguments)


def _counts(found: Sequence[Cell]) -> Iterator[str]:
    """The number of cells in a table, and of those with each verdict."""
    verdicts = [cell.verdict for cell in found if cell.verdict]
    yield f"{len(verdicts)}"
    yield from (f"{verdicts.count(verdict)}" for verdict in VERDICTS)


def _table(name: str, found: Sequence[Cell], told: str) -> ResultTable:
    """A printed table has a line for each cell, any other a line for each row."""
    if name in TABLES:
        title = f"Table {name}. {TABLES[name].title}" if name.isdigit() else TABLES[name].title
        columns = tuple(field.name for field in fields(Cell))[1:]
        lines = [[getattr(cell, column) for column in columns] for cell in found]
    else:
        title, columns = ROW_TABLES[name].title, ("model", "strategy", *ROW_TABLES[name].columns)
        rows = [[*row] for _, row in groupby(found, key=attrgetter("model", "strategy"))]
        lines = [[row[0].model, row[0].strategy, *(cell.recomputed for cell in row)] for row in rows]
    return ResultTable(title, columns, lines, told, texts=len(columns))


if __name__ == "__main__":
    sys.exit(exit_code(PROG, partial(main, sys.argv[1:])))
