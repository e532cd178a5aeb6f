"""JSON as tables: a list of objects names its fields once, and each object is a row.

    [6 lines of JSON as tables: name=value is in every row, where {x} stands for the row's x and {} its own cell; …]
    total: 60
    items, 60 rows: number|title|state=open|url=https://x.org/{number}|user{login|id}|matches[line|text]
    7|Cache lost|ann|31|[12|x = 1;14|return x]
    sizes, 3 rows by key: key|width|height
    small|10|20

A cell is JSON; a text that cannot be read as anything else has no quotes. `user{…}` spreads an object over cells, and
`matches[…]` is a list inside a cell, of objects or (`tags[]`) of other values. A value after `=` holds in every
row: a column that some rows lack has all of its values in their cells. After `=`, a value with braces and without
quotes is a template: `{number}` is the text of that cell of the row, `{}` that of the column's own cell, which is then
always a text; braces around anything else are literal. An object of similar objects is a table by key. The
value can be read back exactly, numbers digit by digit.
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from math import inf
from typing import Any

from thimble.agent import foreign
from thimble.corpus.marks import OUR_MARK

TABLES_HEAD = "[{} lines of JSON as tables: name=value is in every row{}; an empty cell is a missing field]"
TEMPLATES = ", where {x} stands for the row's x and {} its own cell"
TEMPLATE = re.compile(r"=[^|\"]*\{")
MOVES = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")
SPACE = re.compile(r'("[^"\\]*+(?:\\.[^"\\]*+)*+")|[ \t\r\n]++', re.DOTALL)
PLAIN_NAME = re.compile(r"[A-Za-z_@$#][\w@$#-]*+", re.ASCII)
LITERAL = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?|null|true|false")
UNCLEAR = re.compile(r'\A[\s"\[{]|\s\Z|[|\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]')
INNER = re.compile(r"[;\]}]")
CONSTANT = re.compile(r"[;{\]}]")
PLAIN_TEMPLATE = re.compile(r"(?:[^{}]|\{[^{}]*+\})*+")
"""Text with braces that a template may contain."""
TEMPLATE_CUTS = "/ ?=#&()"
"""Characters at which a text is cut for a template: a date, a version or a name stays whole in its cell."""
ESCAPED_LETTER = re.compile(r"[\x7f-\x9f\u2028\u2029\ud800-\udfff]")
MOST_CELLS = 4
"""The most cells of a table for each value in it: with more, most cells would be empty."""
KEYED = 3
"""The fewest similar objects in an object for a table by key; they must fill half of its cells."""
SHARED = 12
"""The fewest characters shared by all texts of a column that move to its header."""
REFERRED = 8
"""The most columns of a table that the templates of others can name."""


class Number(str):
    """A number as written in the JSON."""


@dataclass(frozen=True, slots=True)
class FoundJson:
    """A JSON value in a text: the text before it, the JSON as written, the text after it."""

    before: str
    json: str
    after: str
    value: Any = field(repr=False)

    @property
    def stands_alone(self) -> bool:
        """Whether it ends at the end of a line, and nothing around it moves a cursor or looks like a mark of ours."""
        around = f"{self.before}\n{self.after}"
        return self.after[:1] in ("", "\n") and not MOVES.search(around) and not OUR_MARK.search(around)

    @property
    def minified(self) -> str:
        """The text without insignificant blanks in the JSON."""
        return self.before + SPACE.sub(r"\1", self.json) + self.after

    @property
    def table(self) -> str | None:
        """The text with tables in place of the JSON; None without a list of objects, or with a line like a mark."""
        lines = [*_lines(self.value)] if _has_rows(self.value) else []
        if not lines or any(map(OUR_MARK.match, lines)):
            return None
        head = TABLES_HEAD.format(f"{len(lines):,}", TEMPLATES if any(map(TEMPLATE.search, lines)) else "")
        return self.before + "\n".join([head, *lines]) + self.after


@lru_cache(maxsize=2)
def find_json(text: str) -> FoundJson | None:
    """The JSON list or object at the first line that starts with a bracket or brace; None if that is not JSON.

    None also if an object has a name twice, and beyond the bounds of `agent.foreign`.
    """
    begins = re.search(r"^[\[{]", text, re.MULTILINE)
    if not begins:
        return None
    at = begins.start()
    try:
        value, end = DECODER.raw_decode(text, at)
        foreign.parse_json(text[at:end])
    except (ValueError, RecursionError):
        return None
    return FoundJson(text[:at], text[at:end], text[end:], value)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("an object has a name twice")
    return value


def _constant(text: str) -> Any:
    raise ValueError(f"{text} is not JSON")


DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_int=Number, parse_float=Number, parse_constant=_constant, strict=True
)


def _rows(value: Any) -> bool:
    """Whether it is a list of several objects that have fields."""
    return isinstance(value, list) and len(value) > 1 and all(isinstance(row, dict) and row for row in value)


def _keyed(value: Any) -> bool:
    """Whether it is an object of similar objects."""
    if not isinstance(value, dict) or len(value) < KEYED or not all(isinstance(row, dict) for row in value.values()):
        return False
    names = {name for row in value.values() for name in row}
    return all(value.values()) and len(names) * len(value) <= 2 * sum(map(len, value.values()))


def _has_rows(value: Any) -> bool:
    return _rows(value) or _keyed(value) or (isinstance(value, dict) and any(map(_has_rows, value.values())))


def _lines(value: Any, path: str = "") -> Iterator[str]:
    """The lines of the value: one per entry, or tables."""
    head = f"{path}{', ' if path else ''}"
    if _rows(value) and (table := _Table.of(value)):
        yield f"{head}{len(value)} rows: {table.header}"
        yield from map(table.row, value)
    elif _keyed(value) and (table := _Table.of([*value.values()], keys=[*value])):
        yield f"{head}{len(value)} rows by key: {'|'.join(filter(None, ('key', table.header)))}"
        yield from ("|".join([_cell(key), *table.cells(row)]) for key, row in value.items())
    elif isinstance(value, dict) and _has_rows(value):
        for name, inner in value.items():
            yield from _lines(inner, f"{path}{'.' if path else ''}{_name(name)}")
    else:
        yield f"{path}: {_cell(value)}"


@dataclass(slots=True)
class _Others:
    """The columns that a template may name: the length of the common start of their texts, and the texts."""

    names: Container[str]
    texts: dict[str, tuple[int, Sequence[str]]] = field(default_factory=dict)

    def add(self, name: str, texts: Sequence[str]) -> None:
        if texts and len(self.texts) < REFERRED and PLAIN_NAME.fullmatch(name):
            self.texts[name] = _shared(texts)[0], texts

    def may_surround(self, first: str, last: str) -> bool:
        """Whether a template can have these around its braces."""
        if UNCLEAR.search(f"{first}.") or UNCLEAR.search(f".{last}") or "]" in first + last:
            return False
        braces = re.findall(r"\{([^{}]*)\}", first + last)
        literal = PLAIN_TEMPLATE.fullmatch(first) and PLAIN_TEMPLATE.fullmatch(last)
        return bool(literal) and not any(not name or name in self.names for name in braces)


@dataclass(slots=True)
class _Column:
    """A field of the rows: one with a constant value, one with columns of its own, or one of any values.

    `header`: the header after the name. `cut`: the characters at the start and at the end of a text that its template
    has; None without a template. `hidden`: whether the header alone has all values.
    """

    name: str
    header: str = ""
    inner: _Table | None = None
    listed: bool = False
    hidden: bool = False
    cut: tuple[int, int] | None = None

    @classmethod
    def of(cls, name: str, rows: Sequence[dict[str, Any]], constants: bool, others: _Others) -> _Column:
        """`others` are the columns that its template may name."""
        values = [row[name] for row in rows if name in row]
        constants = constants and len(values) == len(rows)
        if constants and not isinstance(values[0], dict) and _all_same(values):
            return cls(name, f"={_cell(values[0], CONSTANT)}", hidden=True)
        if constants and all(type(value) is str for value in values):
            return cls._template(name, values, others)
        if all(isinstance(value, dict) and value for value in values):
            inner = _Table.of(values, constants)
            return cls(name, f"{{{inner.header}}}", inner) if inner else cls(name)
        if not all(isinstance(value, list) for value in values):
            return cls(name)
        items = [item for value in values for item in value]
        inner = _Table.of(items) if _rows(items) else None
        inner = _Table.of(items, False) if inner and not inner.shown else inner
        return cls(name, f"[{inner.header if inner else ''}]", inner, listed=True)

    @classmethod
    def _template(cls, name: str, values: Sequence[str], others: _Others) -> _Column:
        """A column of texts, whose header has the parts that they share with each other, or with another column."""
        start, end = _shared(values)
        for other, (shared, texts) in others.texts.items():
            before = start - shared
            if before < 0 or not values[0].startswith(texts[0], before):
                continue
            first, last = values[0][:before], values[0][before + len(texts[0]) :]
            legal = others.may_surround(first, last)
            if legal and all(value == f"{first}{text}{last}" for value, text in zip(values, texts, strict=True)):
                return cls(name, f"={first}{{{other}}}{last}", hidden=True)
        value = values[0]
        while start and value[start - 1] not in TEMPLATE_CUTS:
            start -= 1
        while end and value[-end] not in TEMPLATE_CUTS:
            end -= 1
        first, last = value[:start], value[len(value) - end :]
        if start + end >= SHARED and others.may_surround(first, last):
            return cls(name, f"={first}{{}}{last}", cut=(start, end))
        return cls(name)

    @property
    def shown(self) -> bool:
        """Whether it has a cell in each row."""
        return self.inner.shown if self.inner and not self.listed else not self.hidden

    def cells(self, row: dict[str, Any] | None, unclear: re.Pattern[str] | None) -> Iterator[str]:
        if self.hidden:
            return
        there = row is not None and self.name in row
        value: Any = row[self.name] if row is not None and there else None
        if self.inner and not self.listed:
            yield from self.inner.cells(value, unclear)
        elif not there:
            yield ""
        elif self.listed:
            yield f"[{';'.join(map(self._item, value))}]"
        elif self.cut:
            yield _text(value[self.cut[0] : len(value) - self.cut[1]], unclear)
        else:
            yield _cell(value, unclear)

    def _item(self, item: Any) -> str:
        return "|".join(self.inner.cells(item, INNER)) if self.inner else _cell(item, INNER)


@dataclass(slots=True)
class _Table:
    columns: list[_Column] = field(default_factory=list)

    @classmethod
    def of(
        cls, rows: Sequence[dict[str, Any]], constants: bool = True, keys: Sequence[str] | None = None
    ) -> _Table | None:
        """The table of these rows; None if most of its cells would be empty.

        `constants`: whether every row has its columns, so that the header can have their common values.
        """
        names = dict.fromkeys(name for row in rows for name in row)
        if len(names) * len(rows) > MOST_CELLS * sum(map(len, rows)):
            return None
        others = _Others({*names, "key"})
        if keys and "key" not in names:
            others.add("key", keys)
        made = {}
        for name, texts in sorted(((name, _texts(name, rows)) for name in names), key=lambda one: _length(one[1])):
            made[name] = column = _Column.of(name, rows, constants, others)
            if not column.header:
                others.add(name, texts)
        return cls([made[name] for name in names])

    @property
    def header(self) -> str:
        return "|".join(f"{_name(column.name)}{column.header}" for column in self.columns)

    @property
    def shown(self) -> bool:
        """Whether a row has a cell."""
        return any(column.shown for column in self.columns)

    def cells(self, row: dict[str, Any] | None, unclear: re.Pattern[str] | None = None) -> Iterator[str]:
        for column in self.columns:
            yield from column.cells(row, unclear)

    def row(self, row: dict[str, Any]) -> str:
        return "|".join(self.cells(row))


def _texts(name: str, rows: Sequence[dict[str, Any]]) -> list[str]:
    """The texts and numbers of a column; [] if it has anything else."""
    values = [row.get(name) for row in rows]
    return [str(value) for value in values] if all(isinstance(value, str) for value in values) else []


def _length(texts: Sequence[str]) -> float:
    return sum(map(len, texts)) or inf


def _shared(texts: Sequence[str]) -> tuple[int, int]:
    """The number of characters that all texts share at the start, and in their rest at the end."""
    start = _prefix(texts)
    return start, _prefix([text[: start - 1 : -1] if start else text[::-1] for text in texts])


def _prefix(texts: Sequence[str]) -> int:
    first, last = min(texts), max(texts)
    both = zip(first, last, strict=False)
    return next((at for at, (one, other) in enumerate(both) if one != other), min(len(first), len(last)))


def _all_same(values: Sequence[Any]) -> bool:
    first = values[0]
    if isinstance(first, list):
        return (
            all(isinstance(value, list) and value == first for value in values)
            and len({*map(compact_json, values)}) == 1
        )
    return all(type(value) is type(first) and value == first for value in values)


def _name(name: str) -> str:
    return name if PLAIN_NAME.fullmatch(name) else compact_json(name)


def _cell(value: Any, unclear: re.Pattern[str] | None = None) -> str:
    """The value as JSON; a text without quotes if that is unambiguous."""
    return _text(value, unclear) if type(value) is str and not LITERAL.fullmatch(value) else compact_json(value)


def _text(text: str, unclear: re.Pattern[str] | None = None) -> str:
    """The text, without quotes if that is unambiguous."""
    return compact_json(text) if not text or UNCLEAR.search(text) or (unclear and unclear.search(text)) else text


def compact_json(value: Any) -> str:
    """The value as JSON without blanks, each number as written."""
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict):
        return f"{{{','.join(f'{compact_json(name)}:{compact_json(inner)}' for name, inner in value.items())}}}"
    if isinstance(value, list):
        return f"[{','.join(map(compact_json, value))}]"
    text = json.dumps(value, ensure_ascii=False)
    return ESCAPED_LETTER.sub(lambda one: f"\\u{ord(one[0]):04x}", text) if isinstance(value, str) else text
