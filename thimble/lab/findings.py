"""The findings of an experiment, and their output: tables in a terminal or in Markdown, JSON, CSV, or an HTML page."""

from __future__ import annotations

import argparse
import csv
import json
import shlex
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from thimble.agent.errors import UsageError
from thimble.corpus.writing import write_whole

WIDTH = 140
"""The width of a table if the output is not a terminal."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A table; `told` explains it. The first `texts` columns are text, the others numbers."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    told: str = ""
    texts: int = 1


@dataclass(frozen=True, slots=True)
class Findings:
    """The findings of an experiment, for people and for programs.

    Attributes:
        title: The title of the page.
        told: The lines above the tables.
        tables: The tables, for people.
        records: The flat records of `--json` and `--csv`.
        after: The lines below the tables.
        pictures: The pictures of the page, as SVG, by their captions; "" is not shown.
    """

    title: str
    told: Sequence[str]
    tables: Sequence[ResultTable]
    records: Sequence[Mapping[str, Any]]
    after: Sequence[str] = ()
    pictures: Mapping[str, str] = field(default_factory=dict)


def publish(found: Findings, options: argparse.Namespace, prog: str, arguments: Sequence[str]) -> None:
    """Write the page if the flags (`add_output`) ask for one, and print in the form that they name.

    Raises:
        UsageError: the page cannot be written.
    """
    if options.report:
        write_page(options.report, found, shlex.join([*prog.split(), *arguments]))
    if options.json:
        print(json.dumps(found.records, indent=1))
    elif options.csv:
        _print_csv(found.records)
    elif options.markdown:
        print("\n".join(_in_markdown(found)))
    else:
        _in_terminal(found)


def _print_csv(lines: Sequence[Mapping[str, Any]]) -> None:
    """Print a header and a line for each record; the items of a list are joined by spaces."""
    writer = csv.DictWriter(sys.stdout, dict.fromkeys(name for line in lines for name in line), lineterminator="\n")
    writer.writeheader()
    for line in lines:
        writer.writerow(
            {name: " ".join(map(str, value)) if isinstance(value, list) else value for name, value in line.items()}
        )


def _in_markdown(found: Findings) -> Iterator[str]:
    yield from found.told
    for table in found.tables:
        yield f"\n## {table.title}\n"
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
    for line in found.told:
        say(line)
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
    for line in found.after:
        say(f"\n{line}")


def write_page(path: Path, found: Findings, command: str) -> None:
    """Write the page, which shows `command`. The same findings give the same bytes.

    Raises:
        UsageError: the page cannot be written.
    """
    try:
        write_whole(path, [f"{piece}\n" for piece in _html_page(found, command)])
    except OSError as error:
        fix = "give --report another path"
        raise UsageError(f"{path} cannot be written: {error.strerror or error}", fix) from error


def _html_page(found: Findings, command: str) -> Iterator[str]:
    style = (Path(__file__).parent / "page.css").read_text("utf-8")
    told = "\n".join(found.told)
    yield f"""\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="{POLICY}"/>
<meta name="viewport" content="width=device-width"/>
<title>{escape(found.title)}</title>
<style>{style}</style>
</head>
<body>
<h1>{escape(found.title)}</h1>
<p>Command: <code>{escape(command)}</code></p>"""
    yield f"<pre>{escape(told)}</pre>"
    yield from (f"<h2>{escape(title)}</h2>\n{svg}" for title, svg in found.pictures.items() if svg)
    for table in found.tables:
        yield from _html_table(table)
    yield from (f"<p>{escape(line)}</p>" for line in found.after)
    yield "</body>\n</html>"


def _html_table(table: ResultTable) -> Iterator[str]:
    yield f"<h2>{escape(table.title)}</h2>\n<p>{escape(table.told)}</p>\n<table>"
    for name, row in (("th", table.columns), *(("td", row) for row in table.rows)):
        cells = (
            f"<{name}{' class=n' if at >= table.texts else ''}>{escape(cell)}</{name}>" for at, cell in enumerate(row)
        )
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</table>"


def svg_of_points(points: Mapping[str, tuple[float, float]]) -> str:
    """The points with their names, and the values at the ends of both scales; "" for no points."""
    if not points:
        return ""
    (left, right), (low, high) = ((min(of), max(of)) for of in zip(*points.values(), strict=True))
    drawn = ['<path d="M0 0V300H600" fill="none" stroke="gray"/>']
    for name, (x, y) in points.items():
        at = 600 * (x - left) / (right - left or 1), 300 * (high - y) / (high - low or 1)
        drawn.append(f'<circle cx="{at[0]:.1f}" cy="{at[1]:.1f}" r="4"/>')
        drawn.append(f'<text x="{at[0] + 8:.1f}" y="{at[1] + 4:.1f}">{escape(name)}</text>')
    ends = ((0, 318, left), (580, 318, right), (-46, 300, low), (-46, 8, high))
    drawn += [f'<text x="{x}" y="{y}" fill="gray">{value:,.0f}</text>' for x, y, value in ends]
    return "\n".join(['<svg viewBox="-50 -20 950 350" font-size="14">', *drawn, "</svg>"])


def svg_of_lines(lines: Mapping[str, Sequence[float]]) -> str:
    """The lines on one scale, with 0, their names, and the values at the ends of the scale; "" for no lines."""
    if not lines:
        return ""
    values = [0.0, *(value for line in lines.values() for value in line)]
    low, high = min(values), max(values)
    height = 300 / (high - low or 1)
    drawn = []
    for at, (name, line) in enumerate(lines.items()):
        ink = f"hsl({at * 360 // len(lines)} 70% 45%)"
        places = (f"{600 * x / max(1, len(line) - 1):.1f},{(high - y) * height:.1f}" for x, y in enumerate(line))
        drawn.append(f'<polyline points="{" ".join(places)}" fill="none" stroke="{ink}" stroke-width="2"/>')
        drawn.append(f'<text x="610" y="{18 * at + 12}" fill="{ink}">{escape(name)}</text>')
    drawn.append(f'<path d="M0 {high * height:.1f}H600" stroke="gray"/>')
    ends = [f'<text x="0" y="{y}" fill="gray">{value:,.0f}</text>' for y, value in ((-4, high), (316, low))]
    size = max(320, 18 * len(lines))
    return "\n".join([f'<svg viewBox="0 -20 900 {size + 20}" font-size="14">', *drawn, *ends, "</svg>"])
