"""Records: what each entry of a page of JSON says, and each row of the tables that `tidy` makes of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence

from agent.marks import REPEATED
from corpus.passages import record

TABLE = re.compile(r"(?:\S.*?, )?(?P<rows>\d{1,9}) rows(?: by key)?: (?P<columns>.*)")
LEFT_OUT = re.compile(r"\[(?P<lines>\d[\d,]{0,10}) left out\]")
NOTE = re.compile(r"\[(?:(?:JSON as tables|(?:lines|entries) [\d,]+-[\d,]+ left): |[\d,]+ of [\d,]+ )")
CELL = re.compile(r'"(?:[^"\\]|\\.)*+"|\[[^\]]*+\]|[^|]++|(?:^|(?<=\|))')
COLUMN = re.compile(r'(?:"(?:[^"\\]|\\.)*+"|\[[^\]]*+\]|[^|])++')

Column = tuple[str, str]
"""Its name, and what the header says that it is in each row: "{}" is its own cell."""


def records(page: str) -> Iterator[tuple[int, str]]:
    """The entries in the lines of a page, each with its place in it, counted from 0.

    Lines that stand above, or are left out, are counted and not said; but not those before a table.
    """
    columns, rows, place = list[Column](), 0, 0
    lines = page.split("\n")
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
            yield place, _entry(line)
            place += 1


def _columns(header: str) -> list[Column]:
    """The columns of a header, those of an object in a cell among them."""
    parts = (column.partition("=") for column in COLUMN.findall(header))
    return [(name.partition("[")[0].rpartition("{")[2].strip("}"), _said(said) or "{}") for name, _, said in parts]


def _said(of_all: str) -> str:
    """What a header says of all rows, without the ends of objects around it."""
    return of_all[: len(of_all) - max(0, of_all.count("}") - of_all.count("{"))]


def _row(columns: Sequence[Column], cells: Sequence[str]) -> str:
    """A row as a sentence, with what the header says of it."""
    left = iter(cells)
    own = {name: next(left, "") for name, said in columns if "{}" in said}

    def filled(name: str, said: str) -> str:
        return re.sub(r"\{(\w*)\}", lambda braces: own.get(braces[1] or name, braces[0]), said)

    return record([name for name, _ in columns], [filled(*column) for column in columns])


def _entry(line: str) -> str:
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
