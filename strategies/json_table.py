"""JSON as tables: a list of objects names its fields once, and each object is a row.

    [JSON as tables: name=value holds in every row, an empty cell is an absent field]
    total: 60
    items, 60 rows: number|title|state=open|user{login|id}|matches[line|text]
    7|Cache lost|ann|31|[12|x = 1;14|return x]

A cell is JSON; a text that can be read as nothing else has no quotes. `user{…}` spreads an object over cells, and
`matches[…]` is a list inside a cell, of objects or (`tags[]`) of other values. The value comes back exactly, numbers
digit by digit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from agent import foreign

HEAD = "[JSON as tables: name=value holds in every row, an empty cell is an absent field]"
SPACE = re.compile(r'("[^"\\]*+(?:\\.[^"\\]*+)*+")|[ \t\r\n]++', re.DOTALL)
NAME = re.compile(r"[A-Za-z_@$#][\w@$#-]*+", re.ASCII)
LITERAL = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|null|true|false")
UNCLEAR = re.compile(r'\A[\s"\[{]|\s\Z|[|\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]')
INNER = re.compile(r"[;\]}]")
ESCAPED = re.compile(r"[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
CELLS = 4
"""Cells of a table for each value in it: with more, most of them are empty, and it is no table."""


class Number(str):
    """A number as its JSON has it."""


@dataclass(frozen=True, slots=True)
class Found:
    """A JSON value in a text: what stands before it, itself as it was written, what stands after it."""

    before: str
    json: str
    after: str
    value: Any = field(repr=False)

    @property
    def minified(self) -> str:
        """The text with no blank in the JSON that means nothing."""
        return self.before + SPACE.sub(r"\1", self.json) + self.after

    @property
    def table(self) -> str | None:
        """The text with tables in the place of the JSON; None where it has no list of objects."""
        return self.before + "\n".join([HEAD, *_lines(self.value)]) + self.after if _has_rows(self.value) else None


@lru_cache(maxsize=2)
def found(text: str) -> Found | None:
    """The JSON list or object that begins the first line that one can begin; None where there is none.

    None too where a name comes twice in an object, and beyond the bounds of `agent.foreign`.
    """
    begins = re.search(r"^[\[{]", text, re.MULTILINE)
    if not begins:
        return None
    at = begins.start()
    try:
        value, end = DECODER.raw_decode(text, at)
        foreign.read(text[at:end])
    except (ValueError, RecursionError):
        return None
    return Found(text[:at], text[at:end], text[end:], value)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a name comes twice")
    return value


def _constant(text: str) -> Any:
    raise ValueError(f"{text} is no JSON")


DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=Number, parse_float=Number, parse_constant=_constant, strict=True
)


def _rows(value: Any) -> bool:
    """Whether it is a list of objects that have fields."""
    return isinstance(value, list) and len(value) > 1 and all(isinstance(row, dict) and row for row in value)


def _has_rows(value: Any) -> bool:
    return _rows(value) or (isinstance(value, dict) and any(map(_has_rows, value.values())))


def _lines(value: Any, path: str = "") -> Iterator[str]:
    """The value, an entry a line, or a table."""
    if _rows(value):
        table = _Table.of(value)
        if table:
            yield f"{path}{', ' if path else ''}{len(value)} rows: {table.header}"
            yield from map(table.row, value)
            return
    if isinstance(value, dict) and _has_rows(value):
        for name, inner in value.items():
            yield from _lines(inner, f"{path}{'.' if path else ''}{_name(name)}")
    else:
        yield f"{path}: {_cell(value)}"


@dataclass(slots=True)
class _Column:
    """A field of the rows: one with a constant value, one with columns of its own, or one of any values."""

    name: str
    constant: str | None = None
    inner: _Table | None = None
    listed: bool = False

    @classmethod
    def of(cls, name: str, rows: Sequence[dict[str, Any]], constants: bool) -> _Column:
        values = [row[name] for row in rows if name in row]
        constants = constants and len(values) == len(rows)
        if constants and not isinstance(values[0], dict | list) and _all_same(values):
            return cls(name, constant=_cell(values[0], INNER))
        if all(isinstance(value, dict) and value for value in values):
            inner = _Table.of(values, constants)
            return cls(name, inner=inner) if inner else cls(name)
        lists = all(isinstance(value, list) for value in values)
        items = [item for value in values for item in value] if lists else []
        inner = _Table.of(items, False) if _rows(items) else None
        return cls(name, inner=inner, listed=lists)

    @property
    def header(self) -> str:
        name = _name(self.name)
        if self.constant is not None:
            return f"{name}={self.constant}"
        inner = self.inner.header if self.inner else ""
        if self.listed:
            return f"{name}[{inner}]"
        return f"{name}{{{inner}}}" if inner else name

    def cells(self, row: dict[str, Any] | None, unclear: re.Pattern[str] | None) -> Iterator[str]:
        if self.constant is not None:
            return
        there = row is not None and self.name in row
        value: Any = row[self.name] if row is not None and there else None
        if self.inner and not self.listed:
            yield from self.inner.cells(value, unclear)
        elif not there:
            yield ""
        elif self.listed:
            yield f"[{';'.join(map(self._item, value))}]"
        else:
            yield _cell(value, unclear)

    def _item(self, item: Any) -> str:
        return "|".join(self.inner.cells(item, INNER)) if self.inner else _cell(item, INNER)


@dataclass(slots=True)
class _Table:
    columns: list[_Column] = field(default_factory=list)

    @classmethod
    def of(cls, rows: Sequence[dict[str, Any]], constants: bool = True) -> _Table | None:
        """The table of these rows; None where most of its cells would be empty.

        `constants`: whether its columns are there in every row, so that what they have in common stands in the header.
        """
        names = dict.fromkeys(name for row in rows for name in row)
        if len(names) * len(rows) > CELLS * sum(map(len, rows)):
            return None
        return cls([_Column.of(name, rows, constants) for name in names])

    @property
    def header(self) -> str:
        return "|".join(column.header for column in self.columns)

    def cells(self, row: dict[str, Any] | None, unclear: re.Pattern[str] | None = None) -> Iterator[str]:
        for column in self.columns:
            yield from column.cells(row, unclear)

    def row(self, row: dict[str, Any]) -> str:
        return "|".join(self.cells(row))


def _all_same(values: Sequence[Any]) -> bool:
    first = values[0]
    return all(type(value) is type(first) and value == first for value in values)


def _name(name: str) -> str:
    return name if NAME.fullmatch(name) else _json(name)


def _cell(value: Any, unclear: re.Pattern[str] | None = None) -> str:
    """The value as JSON; a text without quotes if it can be nothing else."""
    if type(value) is not str:
        return _json(value)
    quoted = not value or LITERAL.fullmatch(value) or UNCLEAR.search(value) or (unclear and unclear.search(value))
    return _json(value) if quoted else value


def _json(value: Any) -> str:
    """The value as JSON without blanks, each number as it was."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return f"{{{','.join(f'{_json(name)}:{_json(inner)}' for name, inner in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(map(_json, value))}]"
    text = json.dumps(value, ensure_ascii=False)
    return ESCAPED.sub(lambda one: f"\\u{ord(one[0]):04x}", text) if isinstance(value, str) else text
