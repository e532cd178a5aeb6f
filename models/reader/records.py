"""Records: what each entry of a page of JSON says, and each row of the tables that `tidy` makes of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from agent.marks import CUT, REPEATED
from corpus.passages import record

TABLE = re.compile(r"(?:\S.*?, )?(?P<rows>\d{1,9}) rows(?: by key)?: (?P<columns>.*)")
LEFT_OUT = re.compile(r"\[(?P<lines>\d[\d,]{0,10}) left out\]")
NOTE = re.compile(
    r"\[(?:(?:[\d,]+ lines of JSON as tables|(?:lines|entries) [\d,]+-[\d,]+ left|page \d+ of \d+): |[\d,]+ of [\d,]+ )"
)
CELL = re.compile(r'"(?:[^"\\]|\\.)*+"|\[[^\]]*+\]|[^|]++|(?:^|(?<=\|))')
COLUMN = re.compile(r'(?:"(?:[^"\\]|\\.)*+"|\[[^\]]*+\]|[^|])++')

LISTED = re.compile(r"(?:[^\[\]]*\{)?(?P<name>[^\[\]{}=]+)\[(?P<columns>.+)\]\}*")
"""A column whose cells are lists of objects, with the columns of these."""
ITEM = re.compile(r'(?:"(?:[^"\\]|\\.)*+"|[^;"])++')

Column = tuple[str, str, str]
"""Its name; what the header says that it is in each row: "{}" is its own cell; the columns of a list in its cell."""


def records(page: str) -> Iterator[tuple[int, str]]:
    """The entries in the lines of a page, each with its place in it, counted from 0.

    Lines that stand above, or are left out, are counted and not said; but not those before a table. Where a part is
    cut out, the page ends with the last whole line before it: nothing says how many are missing.
    """
    columns, rows, place = list[Column](), 0, 0
    before, *cut = re.split(CUT, page, maxsplit=1)
    lines = before.split("\n")[: -1 if cut else None]
    tables = any(map(TABLE.fullmatch, lines))
    for line in lines:
        if gap := REPEATED.match(line) or LEFT_OUT.match(line):
            many = int(gap["lines"].replace(",", "")) * (rows > 0 or not tables)
            rows, place = max(0, rows - many), place + many
        elif rows:
            yield place, _row(columns, CELL.findall(line))
            rows, place = rows - 1, place + 1
        elif head := TABLE.fullmatch(line):
            columns, rows = _columns(head["columns"]), int(head["rows"])
        elif line.strip() and not NOTE.match(line):
            yield place, entry(line)
            place += 1


def _columns(header: str) -> list[Column]:
    """The columns of a header, those of an object in a cell among them."""
    found = list[Column]()
    for column in COLUMN.findall(header):
        if listed := LISTED.fullmatch(column):
            found.append((listed["name"], "{}", listed["columns"]))
            continue
        name, _, said = column.partition("=")
        found.append((name.partition("[")[0].rpartition("{")[2].strip("}"), _said(said) or "{}", ""))
    return found


def _said(of_all: str) -> str:
    """What a header says of all rows, without the ends of objects around it."""
    return of_all[: len(of_all) - max(0, of_all.count("}") - of_all.count("{"))]


def _row(columns: Sequence[Column], cells: Sequence[str]) -> str:
    """A row as a sentence, with what the header says of it."""
    left = iter(cells)
    own = {name: _listed(inner, next(left, "")) for name, said, inner in columns if "{}" in said}

    def filled(name: str, said: str) -> str:
        return re.sub(r"\{(\w*)\}", lambda braces: own.get(braces[1] or name, braces[0]), said)

    return record([name for name, _, _ in columns], [filled(name, said) for name, said, _ in columns])


def _listed(header: str, cell: str) -> str:
    """A cell; a list of objects with the names of their columns."""
    if not header or not cell.startswith("["):
        return cell
    items = (CELL.findall(item) for item in ITEM.findall(cell[1:-1]))
    return ", ".join(f"({_row(_columns(header), cells).removesuffix('.')})" for cells in items)


def entry(line: str) -> str:
    """An object in a line as a sentence, any other entry as it stands."""
    bare = line.strip().removesuffix(",")
    for text in (bare, bare.removeprefix("["), bare.removesuffix("]"), bare.removeprefix("[").removesuffix("]")):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict) and value:
            return record([*value], [cell if isinstance(cell, str) else json.dumps(cell) for cell in value.values()])
    return bare
