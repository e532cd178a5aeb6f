"""Recompute the tables of The Complexity Trap from its published rows, cell by cell.

    python -m scripts.paper_tables FILE               # the tables of docs/results/paper-tables.md
    python -m scripts.paper_tables FILE --table 4

FILE is the published table as CSV, gzipped or not.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from scripts.paper_tables import cells
from scripts.paper_tables.printed import TABLES
from scripts.paper_tables.published import runs
from scripts.paper_tables.recomputed import Recomputed
from thimble.lab.csv_records import read
from thimble.lab.exit_code import exit_code
from thimble.lab.experiment_flags import add_output
from thimble.lab.findings import Findings, ResultTable
from thimble.lab.publish import publish
from thimble.session.parser import Parser

PROG = "python -m scripts.paper_tables"
COLUMNS = ("model", "strategy", "column", "printed", "recomputed", "verdict", "reason")


def main(arguments: Sequence[str]) -> None:
    """Print the cells of the tables.

    Raises:
        UsageError: a flag, the file, or a record.
    """
    parser = Parser(PROG, description=(__doc__ or "").split("\n")[0], allow_abbrev=False)
    parser.add_argument("file", type=Path, metavar="FILE", help="the published rows")
    parser.add_argument("--table", choices=TABLES, help="one table; default: all")
    add_output(parser)
    options = parser.parse_args(arguments)
    columns, records = read(options.file)
    models = {model: Recomputed(of) for model, of in runs(options.file, columns, records).items()}
    made = {name: [*cells.cells(models, name)] for name in ([options.table] if options.table else TABLES)}
    tables = [
        ResultTable(
            f"Table {name}. {TABLES[name].title}" if name.isdigit() else TABLES[name].title,
            COLUMNS,
            [[getattr(cell, column) for column in COLUMNS] for cell in found],
            "\n\n".join(cells.notes(models, name)),
            texts=len(COLUMNS),
        )
        for name, found in made.items()
    ]
    flat = [asdict(cell) for found in made.values() for cell in found]
    told = [] if options.markdown else [cells.MEANING]
    publish(Findings("The tables of The Complexity Trap, recomputed", told, tables, flat), options, PROG, arguments)


if __name__ == "__main__":
    sys.exit(exit_code(PROG, partial(main, sys.argv[1:])))
