"""A report: one HTML page that asks nobody for anything and runs no script, and its data as CSV files beside it.

The same calls give the same bytes. The page is well-formed XML too, and each number in its tables is a `<data>` element
with the exact value.
"""

from __future__ import annotations

import csv
import io
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from agent.errors import UsageError
from corpus.writing import write_whole
from lab.report import drawing
from lab.report.cells import Value, exact, safe, shown
from lab.report.drawing import Intervals, Series

Axis = tuple[str, Sequence[Value]]
"""What is counted, and its values."""


@dataclass(frozen=True, slots=True)
class Part:
    """A figure (`svg` is its drawing) or a table, with its data."""

    title: str
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Value]]
    svg: str = ""


@dataclass
class Report:
    """A page under a title, with the command that made it and what it was measured on.

    A value is text, a number, or None where it is not known. An interval is a pair of ends, or None. `unit` says what
    the values are ("tokens", "percent"), a caption what the reader should see.
    """

    title: str
    command: str
    measured_on: str
    parts: list[Part | str] = field(default_factory=list)
    _looks: dict[str, int] = field(default_factory=dict)

    def text(self, *paragraphs: str) -> None:
        """Paragraphs."""
        self.parts += paragraphs

    def table(self, title: str, rows: Sequence[Mapping[str, Value]], *, caption: str = "") -> None:
        """A table of these rows; a column for each key, in the order in which they come."""
        columns = list(dict.fromkeys(key for row in rows for key in row))
        heads = [key.replace("_", " ") for key in columns]
        self.parts.append(Part(title, caption, heads, [[row.get(key) for key in columns] for row in rows]))

    def lines(
        self, title: str, x: Axis, series: Series, intervals: Intervals | None = None, *, unit: str, caption: str = ""
    ) -> None:
        """A line for each series over the numbers of `x`, with a band for the intervals. 0 is on the axis."""
        svg = drawing.lines(x, series, intervals or {}, unit, self._looks_of(series))
        self.parts.append(Part(title, caption, *_columns(x, series, intervals or {}), svg))

    def bars(
        self, title: str, x: Axis, series: Series, intervals: Intervals | None = None, *, unit: str, caption: str = ""
    ) -> None:
        """Bars for each label of `x`, one for each series, with whiskers for the intervals."""
        svg = drawing.bars(x, series, intervals or {}, unit, self._looks_of(series))
        self.parts.append(Part(title, caption, *_columns(x, series, intervals or {}), svg))

    def heat(
        self, title: str, rows: Axis, columns: Axis, values: Sequence[Sequence[Value]], *, unit: str, caption: str = ""
    ) -> None:
        """A map with a row of cells for each of `rows`: the stronger the colour, the farther from 0."""
        svg = drawing.heat(rows, columns, values, unit)
        data = [[label, *cells] for label, cells in zip(rows[1], values, strict=True)]
        self.parts.append(Part(title, caption, [rows[0], *map(shown, columns[1])], data, svg))

    def _looks_of(self, series: Series) -> dict[str, int]:
        """A name has one colour, dash and marker on the whole page."""
        for name in series:
            self._looks.setdefault(name, len(self._looks))
        return self._looks

    def page(self, name: str) -> str:
        """The page; `name` is that of its file without the ending."""
        return "\n".join(_page(self, name))

    def write(self, path: Path) -> None:
        """Write the page, and the data of figure or table 1 to NAME-1.csv, of 2 to NAME-2.csv, and so on.

        Raises:
            UsageError: a file cannot be written.
        """
        for number, part in enumerate(_numbered(self), 1):
            _write(path.with_name(data_name(path.stem, number)), _csv(part))
        _write(path, self.page(path.stem))


def data_name(name: str, number: int) -> str:
    """The name of the file with the data of a figure or table."""
    return f"{name}-{number}.csv"


def _columns(x: Axis, series: Series, intervals: Intervals) -> tuple[list[str], list[list[Value]]]:
    """The data of lines or bars: a row for each place, a column for each series and each end of its intervals."""
    names, columns = [x[0]], [x[1]]
    for name, values in series.items():
        names.append(name)
        columns.append(values)
        if name in intervals:
            names += [f"{name} low", f"{name} high"]
            ends = [interval or (None, None) for interval in intervals[name]]
            columns += [[low for low, _ in ends], [high for _, high in ends]]
    return names, [list(row) for row in zip(*columns, strict=True)]


def _numbered(report: Report) -> list[Part]:
    return [part for part in report.parts if isinstance(part, Part)]


# --- the page ---------------------------------------------------------------------------------------------------------


def _page(report: Report, name: str) -> Iterator[str]:
    style = (Path(__file__).parent / "page.css").read_text("utf-8")
    policy = f"default-src 'none'; style-src 'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'"
    yield f"""\
<!DOCTYPE html>
<html lang="en" xmlns="http://www.w3.org/1999/xhtml">
<head>
<meta charset="utf-8"/>
<meta http-equiv="Content-Security-Policy" content="{policy}; base-uri 'none'; form-action 'none'"/>
<meta name="viewport" content="width=device-width"/>
<title>{safe(report.title)}</title>
<style>{style}</style>
</head>
<body>
<header>
<h1>{safe(report.title)}</h1>
<dl>
<dt>Command</dt><dd><code>{safe(report.command)}</code></dd>
<dt>Measured on</dt><dd>{safe(report.measured_on)}</dd>
</dl>
</header>
<main>"""
    numbers = {id(part): number for number, part in enumerate(_numbered(report), 1)}
    for part in report.parts:
        if isinstance(part, str):
            yield f"<p>{safe(part)}</p>"
        else:
            yield from _figure(part, numbers[id(part)], name) if part.svg else _section(part, numbers[id(part)], name)
    for part in _numbered(report):
        if part.svg:
            yield from _data(part, numbers[id(part)])
    yield "</main>\n</body>\n</html>\n"


def _figure(part: Part, number: int, name: str) -> Iterator[str]:
    yield f'<figure id="part-{number}">\n<h2>{safe(part.title)}</h2>\n{part.svg}'
    yield f'<figcaption>{_caption(part)}Data: <a href="#data-{number}">table</a>, {_link(name, number)}.</figcaption>'
    yield "</figure>"


def _section(part: Part, number: int, name: str) -> Iterator[str]:
    yield f'<section id="part-{number}">\n<h2>{safe(part.title)}</h2>'
    yield from _table(part)
    yield f'<p class="quiet">{_caption(part)}Data: {_link(name, number)}.</p>\n</section>'


def _data(part: Part, number: int) -> Iterator[str]:
    yield f'<section id="data-{number}">\n<h2>Data of the figure: <a href="#part-{number}">{safe(part.title)}</a></h2>'
    yield from _table(part)
    yield "</section>"


def _caption(part: Part) -> str:
    return f"{safe(part.caption)} " if part.caption else ""


def _link(name: str, number: int) -> str:
    file = data_name(name, number)
    return f'<a href="{safe("./" + quote(file, errors="replace"))}">{safe(file)}</a>'


def _table(part: Part) -> Iterator[str]:
    looks = [' class="n"' * _numeric(part, at) for at in range(len(part.columns))]
    heads = "".join(f'<th scope="col"{look}>{safe(one)}</th>' for look, one in zip(looks, part.columns, strict=True))
    yield f'<div class="wide">\n<table>\n<thead><tr>{heads}</tr></thead>\n<tbody>'
    for row in part.rows:
        cells = "".join(f"<td{look}>{_cell(value)}</td>" for look, value in zip(looks, row, strict=True))
        yield f"<tr>{cells}</tr>"
    yield "</tbody>\n</table>\n</div>"


def _numeric(part: Part, at: int) -> bool:
    return bool(part.rows) and not any(isinstance(row[at], str) for row in part.rows)


def _cell(value: Value) -> str:
    text = safe(shown(value))
    return text if value is None or isinstance(value, str) else f'<data value="{exact(value)}">{text}</data>'


# --- files ------------------------------------------------------------------------------------------------------------


def _csv(part: Part) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(part.columns)
    writer.writerows([exact(value) for value in row] for row in part.rows)
    return file.getvalue()


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    try:
        write_whole(path, [text])
    except OSError as error:
        raise UsageError(
            f"{path} cannot be written: {error.strerror or error}", "give --report another path"
        ) from error
