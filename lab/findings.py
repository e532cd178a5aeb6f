"""The forms that an experiment prints in: tables in a terminal, JSON, CSV, Markdown."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

WIDTH = 140
"""Columns of a table where the output is no terminal."""


def add_forms(parser: argparse.ArgumentParser, *, json: str, csv: str, markdown: str) -> None:
    """The flags `--json`, `--csv` and `--markdown`, of which one may be given, with their help."""
    forms = parser.add_mutually_exclusive_group()
    for name, told in {"--json": json, "--csv": csv, "--markdown": markdown}.items():
        forms.add_argument(name, action="store_true", help=told)


def print_json(records: Iterable[Mapping[str, Any]]) -> None:
    """Print a JSON list."""
    print(json.dumps(list(records), indent=1))


def print_csv(records: Sequence[Mapping[str, Any]]) -> None:
    """Print a line for each record, below the names of the columns."""
    writer = csv.DictWriter(sys.stdout, records[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)


def markdown(columns: Sequence[str], rows: Iterable[Sequence[str]], figures: Sequence[str] = ()) -> Iterable[str]:
    """The lines of a table in Markdown; the columns named in `figures` are aligned to the right."""
    yield f"| {' | '.join(columns)} |"
    yield "|" + "|".join("--:" if column in figures else "---" for column in columns) + "|"
    for row in rows:
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |"


def console() -> Console:
    """A console on standard output."""
    from rich.console import Console

    return Console(width=None if sys.stdout.isatty() else WIDTH)


def drawn(columns: Sequence[str]) -> Table:
    """A table without a frame; the first column is text, the others are figures."""
    from rich import box
    from rich.table import Table

    table = Table(*columns, box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    table.columns[0].overflow = "fold"
    return table
