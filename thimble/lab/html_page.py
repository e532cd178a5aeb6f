"""The page of an experiment: one HTML file with its tables, which asks nobody for anything."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import Path

from thimble.agent.errors import UsageError
from thimble.corpus.writing import write_whole
from thimble.lab.findings import Findings, ResultTable

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def write_page(path: Path, found: Findings, command: str) -> None:
    """Write the page; `command` is told on it. The same findings give the same bytes.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        write_whole(path, [f"{piece}\n" for piece in _page(found, command)])
    except OSError as error:
        fix = "give --report another path"
        raise UsageError(f"{path} cannot be written: {error.strerror or error}", fix) from error


def _page(found: Findings, command: str) -> Iterator[str]:
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
    for table in found.tables:
        yield from _table(table)
    yield from (f"<p>{escape(line)}</p>" for line in found.after)
    yield "</body>\n</html>"


def _table(table: ResultTable) -> Iterator[str]:
    yield f"<h2>{escape(table.title)}</h2>\n<p>{escape(table.told)}</p>\n<table>"
    for name, row in (("th", table.columns), *(("td", row) for row in table.rows)):
        cells = (
            f"<{name}{' class=n' if at >= table.texts else ''}>{escape(cell)}</{name}>" for at, cell in enumerate(row)
        )
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</table>"
