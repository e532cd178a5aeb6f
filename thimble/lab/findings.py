"""The findings of an experiment, and their output: tables in a terminal or in Markdown, JSON, CSV, or an HTML page."""

from __future__ import annotations

import argparse
import csv
import json
import math
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
    legend: str = ""
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
    headline: Sequence[str]
    tables: Sequence[ResultTable]
    records: Sequence[Mapping[str, Any]]
    after: Sequence[str] = ()
    pictures: Mapping[str, str] = field(default_factory=dict)


def publish_findings(found: Findings, options: argparse.Namespace, prog: str, arguments: Sequence[str]) -> None:
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
    yield from found.headline
    for table in found.tables:
        yield f"\n## {table.title}\n"
        if table.legend:
            yield f"{table.legend}\n"
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
    for line in found.headline:
        say(line)
    for table in found.tables:
        say(f"\n{table.title}\n", *([f"{table.legend}\n"] if table.legend else []), sep="\n")
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
    told = "\n".join(found.headline)
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
    yield f"<h2>{escape(table.title)}</h2>\n<p>{escape(table.legend)}</p>\n<table>"
    for name, row in (("th", table.columns), *(("td", row) for row in table.rows)):
        cells = (
            f"<{name}{' class=n' if at >= table.texts else ''}>{escape(cell)}</{name}>" for at, cell in enumerate(row)
        )
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</table>"


COLOURS = ("royalblue", "crimson", "seagreen", "darkorange", "mediumorchid", "slategray")
BOXES = "box: half of the values; bar: median; star: mean; whisker: to the last value within 1.5 boxes"
Groups = Mapping[str, Mapping[str, Sequence[float]]]
"""Figures by group and name. A group has its own colour, unless it is the only one."""


def svg_of_points(groups: Groups, across: str = "", up: str = "") -> str:
    """Points (x, y) with their names; the scales are named `across` and `up`; "" for no points.

    Lines join the points of a group if there are several groups.
    """
    every = [point for points in groups.values() for point in points.values()]
    if not every:
        return ""
    (left, right), (low, high) = ((min(of), max(of)) for of in zip(*every, strict=True))
    wide, tall = 600 / (right - left or 1), 300 / (high - low or 1)
    drawn, marks, taken = list[str](), list[Any](), list[tuple[float, float, float]]()
    for at, told in _ticks(low, high):
        drawn.append(f'<path d="M-5 {(high - at) * tall:.1f}H610" stroke="gray" opacity=".4"/>')
        drawn.append(f'<text x="-10" y="{(high - at) * tall + 5:.1f}" fill="gray" text-anchor="end">{told}</text>')
    drawn.append(f'<text x="-10" y="-25" fill="gray">{escape(up)}</text>')
    for number, (group, ink, points) in enumerate(_in_colours(groups)):
        found = [((high - y) * tall, (x - left) * wide, escape(name), ink) for name, (x, y) in points.items()]
        marks += found
        taken += [(y, x - 6, x + 6) for y, x, *_ in found]
        if len(groups) > 1:
            drawn.append(f'<text x="760" y="{20 * number + 10}" fill="{ink}">{escape(group)}</text>')
            path = " ".join(f"{x:.1f},{y:.1f}" for y, x, *_ in found)
            drawn.append(f'<polyline points="{path}" fill="none" stroke="{ink}" opacity=".4"/>')
    for y, x, name, ink in sorted(marks):
        at, start, end = y, x + 10, x + 20 + 8 * len(name)
        while any(abs(at - other) < 15 and start < stop and begin < end for other, begin, stop in taken):
            at += 1  # down to a free place
        taken.append((at, start, end))
        drawn.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{ink}"/>')
        drawn.append(f'<path d="M{x:.1f} {y:.1f}L{x + 10:.1f} {at:.1f}" stroke="{ink}"/>')
        drawn.append(f'<text x="{x + 12:.1f}" y="{at + 5:.1f}" fill="{ink}">{name}</text>')
    bottom = max(310, *(round(at) + 10 for at, *_ in taken))
    scale = _scale_across(left, right, bottom, across)
    return "\n".join([f'<svg viewBox="-60 -45 1020 {bottom + 95}" font-size="14">', *scale, *drawn, "</svg>"])


def svg_of_boxes(groups: Groups, across: str = "") -> str:
    """A box plot with a row for each name, on a scale from 0 that is named `across`; "" for no boxes.

    A box is (low, quartile, median, quartile, high, mean), where `low` and `high` are the ends of the whiskers.
    """
    most = max((max(box) for boxes in groups.values() for box in boxes.values()), default=0)
    if not most:
        return ""
    wide, at, drawn = 600 / most, 0, list[str]()
    for group, ink, boxes in _in_colours(groups):
        drawn.append(f'<text x="-380" y="{at + 15}" fill="{ink}">{escape(group)}</text>')
        for name, figures in boxes.items():
            low, first, middle, third, high, mean = (f"{figure * wide:.1f}" for figure in figures)
            drawn.append(f'<text x="-10" y="{at + 15}" fill="{ink}" text-anchor="end">{escape(name)}</text>')
            path = f"M{low} {at + 10}H{first}V{at + 2}H{third}V{at + 18}H{first}V{at + 10}M{third} {at + 10}H{high}"
            drawn.append(f'<path d="{path}M{middle} {at + 2}v16" fill="none" stroke="{ink}" stroke-width="1.5"/>')
            drawn.append(f'<text x="{mean}" y="{at + 15}" fill="{ink}" text-anchor="middle">★</text>')
            at += 24
        at += 10
    scale = [*_scale_across(0, most, at, across), f'<text x="-380" y="{at + 40}" fill="gray">{BOXES}</text>']
    return "\n".join([f'<svg viewBox="-390 -10 1020 {at + 60}" font-size="14">', *scale, *drawn, "</svg>"])


def _in_colours(groups: Groups) -> Iterator[tuple[str, str, Mapping[str, Sequence[float]]]]:
    """Each group with its colour."""
    for number, (group, named) in enumerate(groups.items()):
        yield group, COLOURS[number % len(COLOURS)] if len(groups) > 1 else "currentColor", named


def _ticks(low: float, high: float) -> Iterator[tuple[float, str]]:
    """Three to ten round values of a scale, each with its text; fewer if it is almost a point."""
    unit = 10 ** math.floor(math.log10(max(high - low, 1e-9 * max(1, abs(high), abs(low)))))
    step = next(unit * part for part in (1, 0.5, 0.2) if high - low >= 3 * unit * part or part == 0.2)
    for number in range(math.ceil(low / step), math.floor(high / step) + 1):
        yield number * step, f"{number * step:,.10g}"


def _scale_across(left: float, right: float, bottom: float, name: str) -> Iterator[str]:
    """The scale below a picture."""
    for at, told in _ticks(left, right):
        x = (at - left) * 600 / (right - left or 1)
        yield f'<path d="M{x:.1f} -10V{bottom + 5}" stroke="gray" opacity=".4"/>'
        yield f'<text x="{x:.1f}" y="{bottom + 20}" fill="gray" text-anchor="middle">{told}</text>'
    yield f'<text x="610" y="{bottom + 40}" fill="gray" text-anchor="end">{escape(name)}</text>'


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
