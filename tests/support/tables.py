"""Reads JSON tables back: the oracle of `strategies/json_table.py`, written from the words of its docstring alone."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

HEAD = "[JSON as tables: "
BARE = re.compile(r"[A-Za-z_@$#][\w@$#-]*", re.ASCII)
NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")


@dataclass(frozen=True)
class Digits:
    """A number as it was written."""

    text: str


def exact(text: str) -> Any:
    """A JSON value with its numbers as `Digits`."""
    return DECODER.decode(text)


DECODER = json.JSONDecoder(parse_int=Digits, parse_float=Digits)
ABSENT = object()


@dataclass
class Column:
    name: str
    constant: Any = ABSENT
    template: str = ""
    inner: list[Column] = field(default_factory=list)
    kind: str = ""


class Reader:
    """Reads from left to right."""

    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def take(self, expected: str) -> bool:
        found = self.text.startswith(expected, self.at)
        self.at += len(expected) * found
        return found

    def need(self, expected: str) -> None:
        assert self.take(expected), (expected, self.text[self.at : self.at + 40])

    def json(self) -> Any:
        value, self.at = DECODER.raw_decode(self.text, self.at)
        return value

    def name(self) -> str:
        if self.text[self.at] == '"':
            return str(self.json())
        match = BARE.match(self.text, self.at)
        assert match
        self.at = match.end()
        return match[0]

    def cell(self, ends: str) -> Any:
        """A cell up to one of these letters or the end of the line."""
        if self.text[self.at : self.at + 1] in ("[", "{", '"'):
            return self.json()
        start = self.at
        while self.at < len(self.text) and self.text[self.at] not in ends:
            self.at += 1
        return scalar(self.text[start : self.at])

    def part(self, ends: str) -> Any:
        """A cell that is a text whatever it looks like."""
        found = re.compile(f"[^{re.escape(ends)}]*").match(self.text, self.at)
        assert found
        if found[0][:1] == '"':
            return self.json()
        self.at = found.end()
        return found[0] or ABSENT

    def columns(self, end: str) -> list[Column]:
        found = []
        while True:
            column = Column(self.name())
            if self.take("="):
                unquoted = re.compile(r'(?!["\[])(?:[^|\]{}\n]|\{[^|{}\n]*\})*').match(self.text, self.at)
                if unquoted and "{" in unquoted[0]:
                    column.template, self.at = unquoted[0], unquoted.end()
                else:
                    column.constant = self.cell("|]}\n")
            elif self.take("{"):
                column.kind, column.inner = "{", self.columns("}")
            elif self.take("["):
                column.kind = "["
                column.inner = [] if self.take("]") else self.columns("]")
            found.append(column)
            if not self.take("|"):
                self.need(end)
                return found

    def row(self, columns: list[Column], ends: str, keys: list[str] | None = None) -> dict[str, Any]:
        """A row, and its key added to `keys` if it begins with one."""
        values: dict[int, Any] = {}
        if keys is not None:
            keys.append(self.cell("|" + ends))
        for at, column in enumerate(self.shown(columns)):
            if at or keys is not None:
                self.need("|")
            values[id(column)] = self.value(column, ends)
        return built(columns, values, {"key": keys[-1]} if keys else {})

    def shown(self, columns: list[Column]) -> list[Column]:
        """The columns that have a cell."""
        found = []
        for one in columns:
            if one.kind == "{":
                found += self.shown(one.inner)
            elif one.constant is ABSENT and (not one.template or "{}" in one.template):
                found.append(one)
        return found

    def value(self, column: Column, ends: str) -> Any:
        if column.template:
            return self.part("|" + ends)
        if column.kind != "[":
            return self.cell("|" + ends)
        if not self.take("["):
            return ABSENT
        items: list[Any] = []
        if self.take("]"):
            return items
        while True:
            items.append(self.row(column.inner, ";]") if column.inner else self.cell(";]|"))
            if not self.take(";"):
                self.need("]")
                return items


def scalar(text: str) -> Any:
    words = {"": ABSENT, "null": None, "true": True, "false": False}
    return words[text] if text in words else Digits(text) if NUMBER.fullmatch(text) else text


def built(columns: list[Column], values: dict[int, Any], key: dict[str, str] | None = None) -> dict[str, Any]:
    """A row of these columns; an object without a field is absent itself."""
    made: dict[str, Any] = {}
    texts = {**(key or {})}
    for column in columns:
        value = values.get(id(column))
        texts[column.name] = value.text if isinstance(value, Digits) else value if isinstance(value, str) else ""

    def filled(template: str, own: Any) -> str:
        texts[""] = own
        return re.sub(r"\{([^{}]*)\}", lambda name: texts.get(name[1], name[0]), template)

    for column in columns:
        own = values.get(id(column), column.constant)
        if column.kind == "{":
            own = built(column.inner, values) or ABSENT
        elif column.template:
            assert own is not ABSENT or "{}" not in column.template, "the head holds in every row"
            own = filled(column.template, own)
        if own is not ABSENT:
            made[column.name] = own
    return made


def read(text: str) -> Any:
    """The JSON value of a text that is all tables."""
    reader = Reader(text)
    assert reader.take(HEAD)
    reader.at = text.index("\n") + 1
    root: Any = {}
    while reader.at < len(text):
        path = []
        while not re.match(r"(, )?\d+ rows( by key)?: |: ", text[reader.at : reader.at + 40]):
            path.append(reader.name())
            reader.take(".")
        if reader.take(": "):
            value = reader.cell("\n")
            reader.take("\n")
        else:
            reader.take(", ")
            count = int(re.match(r"\d+", text[reader.at : reader.at + 20])[0])  # type: ignore[index]
            reader.at += len(f"{count} rows")
            keys: list[str] | None = [] if reader.take(" by key: key") else None
            if keys is not None:
                columns = [] if reader.take("\n") else reader.columns("\n") if reader.take("|") else []
            else:
                reader.need(": ")
                columns = reader.columns("\n")
            rows = []
            for _ in range(count):
                rows.append(reader.row(columns, "\n", keys))
                reader.take("\n")
            value = rows if keys is None else dict(zip(keys, rows, strict=True))
        if not path:
            return value
        into = root
        for name in path[:-1]:
            into = into.setdefault(name, {})
        into[path[-1]] = value
    return root
