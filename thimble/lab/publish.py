"""The one way to show what an experiment found: tables in a terminal or in Markdown, JSON, CSV, or a page."""

from __future__ import annotations

import argparse
import csv
import json
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial

from thimble.lab.findings import Findings, FlatRecord, ResultTable
from thimble.lab.html_page import write_page

WIDTH = 140
"""Columns of a table where the output is no terminal."""


def publish(found: Findings, options: argparse.Namespace, prog: str, arguments: Sequence[str]) -> None:
    """Write the page if there is to be one, and print in the form that the flags name (`add_output`).

    Raises:
        UsageError: the page cannot be written.
    """
    if options.report:
        write_page(options.report, found, shlex.join([*prog.split(), *arguments]))
    if options.json:
        print(json.dumps(found.records, indent=1))
    elif options.csv:
        _print_csv(found.lines or found.records)
    elif options.markdown:
        print("\n".join(_in_markdown(found)))
    else:
        _in_terminal(found)


def _print_csv(lines: Sequence[FlatRecord]) -> None:
    """A line for each record, below the names of the columns; a list is written with spaces."""
    writer = csv.DictWriter(sys.stdout, lines[0], lineterminator="\n")
    writer.writeheader()
    for line in lines:
        writer.writerow(
            {name: " ".join(map(str, value)) if isinstance(value, list) else value for name, value in line.items()}
        )


def _in_markdown(found: Findings) -> Iterator[str]:
    yield from found.told
    for table in found.markdown or found.tables:
        yield ""
        if table.title:
            yield f"## {table.title}\n"
        if table.told:
            yield f"{table.told}\n"
        yield from markdown_table(table)
    yield from (f"\n{line}" for line in found.after)


def markdown_table(table: ResultTable) -> Iterator[str]:
    """The lines of a table in Markdown."""
    yield f"| {' | '.join(table.columns)} |"
    yield "|" + "|".join("---" if at < table.texts else "--:" for at in range(len(table.columns))) + "|"
    for row in table.rows:
        yield f"| {' | '.join(cell.strip().replace('|', chr(92) + '|') for cell in row)} |"


def _in_terminal(found: Findings) -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    screen = Console(width=None if sys.stdout.isatty() else WIDTH)
    say = partial(screen.print, highlight=False, markup=False)
    _say_lines(say, found.told)
    for table in found.tables:
        say(f"\n{table.title}\n", *([f"{table.told}\n"] if table.told else []), sep="\n")
        drawn = Drawn(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
        for at, column in enumerate(table.columns):
            if at < table.texts:
                drawn.add_column(Text(column), overflow="fold")
            else:
                drawn.add_column(Text(column), justify="right", no_wrap=True)
        for row in table.rows:
            drawn.add_row(*map(Text, row))
        say(drawn)
    _say_lines(say, [f"\n{line}" for line in found.after])


def _say_lines(say: Callable[[str], object], lines: Iterable[str]) -> None:
    for line in lines:
        say(line)
