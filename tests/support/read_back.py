"""Reads back what `tidy` and `dedup` write: the oracle of a test, written from the page of the form alone.

It is strict: what the page does not allow is an AssertionError or a ValueError.
"""

from __future__ import annotations

import json
import re
from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import takewhile, zip_longest
from typing import Any, NamedTuple


class Absent(Enum):
    """What is not there: a JSON value in a result, a field in a row, a text that a template could name."""

    NOTHING = "nothing"
    MISSING = "missing"
    NO_TEXT = "no text"


NOTHING, MISSING, NO_TEXT = Absent.NOTHING, Absent.MISSING, Absent.NO_TEXT
N = r"[1-9][0-9]{0,2}(?:,[0-9]{3})*"
NEXT = r"(?:, |(?=\]))"
LEFT_OUT = rf"\[left out: ({N} terminal sequences?{NEXT})?({N} redrawn lines?{NEXT})?(?:({N}) repeated lines?)?(?<! )\]"
AGAIN = rf"\[({N}) times\] ([^\n]*)"
WHERE = ", where {x} stands for the row's x and {} its own cell"
HEAD = (
    rf"\[({N}) lines of JSON as tables: name=value is in every row({re.escape(WHERE)})?"
    r"; an empty cell is a missing field\]"
)
REFERENCE = rf'\[(?:(1) line|({N}) lines) as above, (now )?from `(.*)`(; recall\(id="[^"]+"\) shows all)?\]'
OURS = re.compile(rf"^(?:{LEFT_OUT}|{AGAIN}|{HEAD}|{REFERENCE})$", re.MULTILINE)
BAD_AROUND_JSON = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]|\r(?!\n)")
BAD_IN_TEXT = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f-\x9f]|\x1b(?!\[0?K)")
OPENING = re.compile(r"^[\[{]", re.MULTILINE)
STRING = r'"(?:[^"\\\x00-\x1f]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
PLAIN = r"[A-Za-z_@$#][A-Za-z0-9_@$#-]*"
NAME = re.compile(f"{PLAIN}|{STRING}")
NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
ROWS = re.compile(r"([1-9][0-9]*) rows(: | by key: key)")
IN_TEMPLATE = re.compile(rf"\{{(?:{PLAIN}|{STRING})?\}}|[{{}}|\]]|[^{{}}|\]]+")
UNTIL = {stops: re.compile(rf"[^\n{re.escape(stops)}]*") for stops in ("", "|", "|;]")}
LEAD = re.compile(r"((?: {0,9}[0-9]{1,7}[\t:|-])?)([ \t+-]{0,40})")
Above = dict[str, tuple[list[str], int]]
WORDS: dict[str, Any] = {"": MISSING, "null": None, "true": True, "false": False}


@dataclass(frozen=True)
class Digits:
    """A number, digit by digit as it was written."""

    text: str


@dataclass(frozen=True)
class ReplyPiece:
    """What a result says: the text before its JSON value, the value (NOTHING where there is none), the text after."""

    before: str
    value: Any
    after: str


class Column(NamedTuple):
    """A column: its name, how a template names it, its kind, and its value, its template in parts, or its columns."""

    name: str
    mark: str
    kind: str
    inside: Any = ()


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) < len(pairs):
        raise ValueError(f"a name comes twice in one object: {[name for name, _ in pairs]}")
    return dict(pairs)


def _no_number(word: str) -> Any:
    raise ValueError(f"{word} is no JSON")


EXACT, PAIRS = (
    json.JSONDecoder(object_pairs_hook=hook, parse_int=Digits, parse_float=Digits, parse_constant=_no_number)
    for hook in (_once, tuple)
)


def exact(text: str, at: int | None = None) -> Any:
    """A JSON value with its numbers as Digits; with `at` the one that begins there, and where it ends."""
    try:
        return EXACT.decode(text) if at is None else EXACT.raw_decode(text, at)
    except RecursionError:
        raise ValueError("JSON too deep to be read") from None


def strings(document: str) -> list[str]:
    """All strings that are values in a JSON document, in order; none where it is no JSON."""
    try:
        left, found = [PAIRS.decode(document)], list[str]()
    except (ValueError, RecursionError):
        return []
    while left:
        value = left.pop()
        if isinstance(value, str):
            found.append(value)
        elif isinstance(value, list | tuple):
            left += reversed([pair[1] for pair in value] if isinstance(value, tuple) else value)
    return found


class Line:
    """A line of tables, read from left to right."""

    def __init__(self, text: str) -> None:
        """Count the cells of the row so far, and those with something in them; write its templates out `later`."""
        self.text, self.at, self.seen, self.filled, self.templates = text, 0, 0, 0, False
        self.later: list[tuple[dict[str, Any], Column, Any, ChainMap[str, Any]]] = []

    def where(self, what: str) -> str:
        """What is wrong, and where."""
        return f"{what} at character {self.at} of {self.text[:300]!r}"

    def next_is(self, signs: str) -> bool:
        """Whether one of the signs comes next."""
        return self.at < len(self.text) and self.text[self.at] in signs

    def take(self, sign: str, must: bool = False) -> bool:
        """Pass a sign, if it comes next."""
        found = self.text.startswith(sign, self.at)
        assert found or not must, self.where(f"no {sign!r}")
        self.at += len(sign) * found
        return found

    def match(self, pattern: re.Pattern[str], what: str) -> re.Match[str]:
        """Pass what comes next, which has the pattern."""
        found = pattern.match(self.text, self.at)
        assert found, self.where(f"no {what}")
        self.at = found.end()
        return found

    def json(self) -> Any:
        """The JSON value that comes next."""
        value, self.at = exact(self.text, self.at)
        return value

    def name(self) -> tuple[str, str]:
        """A name, and how a template names it."""
        written = self.match(NAME, "name")[0]
        name = exact(written) if written[0] == '"' else written
        assert name == written or not re.fullmatch(PLAIN, name), self.where("quotes around a name that needs none")
        return name, f"{{{written}}}"

    def cell(self, stops: str, text: bool = False) -> Any:
        """What a cell says (a text whatever it looks like, if so asked), or MISSING."""
        if self.next_is('"' if text else '"[{'):
            value = self.json()
        else:
            written = self.match(UNTIL[stops], "cell")[0]
            value = (written or MISSING) if text else scalar(written)
        assert self.at == len(self.text) or self.next_is(stops), self.where("a cell goes on")
        return value

    def columns(self) -> list[Column]:
        """The columns of a header, as far as they go."""
        found: list[Column] = []
        while not found or self.take("|"):
            name, mark = self.name()
            if self.take("="):
                found.append(Column(name, mark, *self.same()))
            elif self.take("[]"):
                found.append(Column(name, mark, "[]"))
            elif self.next_is("{["):
                kind = self.text[self.at]
                self.at += 1
                found.append(Column(name, mark, kind, self.columns()))
                self.take("}" if kind == "{" else "]", must=True)
            else:
                found.append(Column(name, mark, "cell"))
        assert len({column.name for column in found}) == len(found), self.where("a column comes twice")
        return found

    def same(self) -> tuple[str, Any]:
        """What is in every row: a value, or a text made by a template."""
        if self.next_is('"['):
            return "=", self.json()
        parts, deep = list[str](), 0
        while self.at < len(self.text) and not self.next_is("|]" if deep else "|]}"):
            parts.append(self.match(IN_TEMPLATE, "template")[0])
            deep += (parts[-1] == "{") - (parts[-1] == "}")
        assert parts, self.where("no value")
        self.templates |= (is_template := "{" in "".join(parts))
        return ("template", parts) if is_template else ("=", scalar("".join(parts)))

    def fields(self, columns: Sequence[Column], stops: str, around: ChainMap[str, Any]) -> dict[str, Any]:
        """The object that the next cells say. A template knows the columns beside it, and those around it."""
        known, said = around.new_child(), dict[str, Any]()
        for column in columns:
            seen, filled, value = self.seen, self.filled, column.inside
            if column.kind == "{":
                value = self.fields(column.inside, stops, known)
                value = MISSING if self.seen > seen and self.filled == filled else value
            elif column.kind != "=":
                has_cell = column.kind != "template" or "{}" in column.inside
                value = self.next_cell(column, stops) if has_cell else NO_TEXT
            known[column.mark] = NO_TEXT if column.kind in ("{", "[", "[]") else value
            if column.kind == "template" and value is not MISSING:
                self.later.append((said, column, value, known))
            elif value is not MISSING:
                said[column.name] = value
        return said

    def next_cell(self, column: Column, stops: str) -> Any:
        """What the next cell says, or MISSING."""
        self.take("|" if self.seen else "", must=True)
        self.seen += 1
        if column.kind not in ("[", "[]"):
            value = self.cell(stops, column.kind == "template")
        else:
            value = MISSING if self.at == len(self.text) or self.next_is(stops) else self.items(column)
        self.filled += value is not MISSING
        return value

    def items(self, column: Column) -> list[Any]:
        """The items of a list."""
        seen, filled, found = self.seen, self.filled, list[Any]()
        self.take("[", must=True)
        while not self.take("]"):
            self.take(";" if found else "", must=True)
            self.seen = 0
            plain = column.kind == "[]"
            found.append(self.cell("|;]") if plain else self.fields(column.inside, "|;]", ChainMap()))
            assert found[-1] is not MISSING, self.where("no item")
            assert self.next_is(";]"), self.where("no end of an item")
        self.seen, self.filled = seen, filled
        return found

    def end(self) -> None:
        """Be at the end of the line, and write its templates out."""
        assert self.at == len(self.text), self.where("more than the page says")
        for said, column, own, known in self.later:
            parts = (own if part == "{}" else text_of(known.get(part, part)) for part in column.inside)
            said[column.name] = "".join(parts)


def scalar(written: str) -> Any:
    """What a cell without quotes and brackets says."""
    return WORDS[written] if written in WORDS else Digits(written) if NUMBER.fullmatch(written) else written


def text_of(value: Any) -> str:
    """The text of a cell that a template names."""
    words = [word for word, meant in WORDS.items() if value is meant]
    text = words[0] if words else value.text if isinstance(value, Digits) else value
    assert isinstance(text, str), f"a template names a column that has no cell with a text: {value!r}"
    return text


def rows(header: Line, lines: Sequence[str], by_key: bool) -> Any:
    """The list, or the object, that a header and its rows say."""
    columns = header.columns() if not by_key or header.take("|") else []
    header.end()
    found: dict[Any, Any] = {}
    for at, text in enumerate(lines):
        row, around = Line(text), ChainMap[str, Any]()
        name: Any = at
        if by_key:
            name = around["{key}"] = row.cell("|", text=True)
            row.seen = 1
        assert name is not MISSING, row.where("no name")
        assert name not in found, row.where("a name that comes twice")
        found[name] = row.fields(columns, "|", around)
        row.end()
    return found if by_key else list(found.values())


class Fields(dict[str, Any]):
    """An object that paths lead through."""


def tables(lines: Sequence[str]) -> tuple[Any, bool]:
    """The value that the lines of tables say, and whether a header has a template."""
    whole, at, templates, any_rows = Fields(), 0, False, False
    while at < len(lines):
        line, path = Line(lines[at]), list[str]()
        at += 1
        while line.take(".") if path else not ROWS.match(line.text):
            path.append(line.name()[0])
        if path and line.take(": "):
            value = line.cell("")
            assert value is not MISSING, line.where("no value")
        else:
            line.take(", " if path else "", must=True)
            found = line.match(ROWS, "rows")
            by_key, end = found[2] != ": ", at + int(found[1])
            assert at + (3 if by_key else 2) <= end <= len(lines), line.where(
                f"too few rows or lines ({len(lines) - at})"
            )
            value, at, any_rows = rows(line, lines[at:end], by_key), end, True
            templates |= line.templates
        if not path:
            assert not whole, line.where("more than the whole value")
            assert at == len(lines), line.where("more than the whole value")
            return value, templates
        inner = whole
        for name in path[:-1]:
            inner = inner.setdefault(name, Fields())
            assert isinstance(inner, Fields), line.where("a path through a value")
        assert path[-1] not in inner, line.where("a path that comes twice")
        inner[path[-1]] = value
    assert any_rows, f"tables without rows: {lines}"
    return whole, templates


def number(text: str) -> int:
    """A number with commas."""
    return int(text.replace(",", ""))


def found_in(content: str) -> ReplyPiece | None:
    """What a text says in which the rule finds a JSON value."""
    opening = OPENING.search(content)
    start = opening.start() if opening else len(content)
    try:
        value, end = exact(content, start)
    except ValueError:
        return None
    said = ReplyPiece(content[:start], value, content[end:])
    bad = BAD_AROUND_JSON.search(said.before) or BAD_AROUND_JSON.search(said.after)
    return None if bad or said.after[:1] not in ("", "\n") else said


def repeated(text: str) -> tuple[str, int]:
    """A text with its repeats written out, and how many lines came back."""
    lines, back, run, written = list[str](), 0, 0, text.split("\n")
    for left, line in enumerate(written, 1 - len(written)):
        if again := re.fullmatch(AGAIN, line):
            run = number(again[1])
            assert run > 3, f"a repeat of less than four lines: {line}"
            assert lines[-1:] != [again[2]], f"a repeat that begins above: {line}"
            lines += [again[2]] * run
            back += run - 1
        else:
            run = run + 1 if lines and line == lines[-1] else 1
            assert run <= 3 or not (line or left), f"a line that comes more than three times: {line[:300]!r}"
            lines.append(line)
    return "\n".join(lines), back


def untidied(content: str, rewritten: bool) -> ReplyPiece:
    """What a result says. `rewritten`: the program says that it wrote this copy; else it is the result as it came."""
    if not rewritten:
        return found_in(content) or ReplyPiece(content, NOTHING, "")
    first, newline, rest = content.partition("\n")
    if (left_out := re.fullmatch(LEFT_OUT, first)) and newline:
        bad = BAD_IN_TEXT.search(rest)
        assert not bad, f"a control character that is never rewritten, or goes, behind {rest[: bad.end()][-300:]!r}"
        whole, back = repeated(rest)
        assert back == number(left_out[3] or "0"), f"{back} lines came back, but {first}"
        own_text(whole)
        return ReplyPiece(whole, NOTHING, "")
    if head := re.search(f"^{HEAD}$", content, re.MULTILINE):
        count = number(head[1])
        after = content[head.end() + 1 :].split("\n", count)
        assert len(after) >= count, f"{len(after)} lines behind {head[0]}"
        value, templates = tables(after[:count])
        assert head[2] or not templates, f"templates: {templates}, but {head[0]}"
        said = ReplyPiece(content[: head.start()], value, "".join("\n" + text for text in after[count:]))
        assert not OPENING.search(said.before), f"an earlier line begins as JSON does: {said.before[:300]!r}"
    else:
        found = found_in(content)
        assert found, f"rewritten, but in none of the forms: {content[:300]!r}"
        said, tokens = found, re.sub(STRING, "", content[len(found.before) : len(content) - len(found.after)])
        assert not re.search(r"[ \t\n\r]", tokens), f"blanks between the tokens: {tokens[:300]!r}"
    for text in (said.before, said.after):
        assert not BAD_AROUND_JSON.search(text), f"a control character around JSON: {text[:300]!r}"
        own_text(text)
    return said


def own_text(text: str) -> None:
    """Hold that no line of a result looks like one that the program writes."""
    ours = OURS.search(text)
    assert not ours, f"a line of the result looks like one of the program: {ours[0]!r}"


def split(line: str) -> tuple[str, str, str]:
    """The number in the lead of a line, the rest of its lead, and its head."""
    lead = LEAD.match(line)
    assert lead
    return lead[1], lead[2], line[lead.end() : lead.end() + 32].rstrip()


def moved(lines: Sequence[str], there: str, here: str) -> list[str]:
    """Lines with the lead from here in the place of the one from there."""
    ends = zip(reversed(there), reversed(here), strict=False)
    common = len(list(takewhile(lambda pair: pair[0] == pair[1] and not pair[0].isdigit(), ends)))
    old, new = there[: len(there) - common], here[: len(here) - common]
    found = []
    for step, line in enumerate(lines):
        assert line.startswith(stepped(old, step)), f"no {stepped(old, step)!r} before {line[:300]!r}"
        found.append(stepped(new, step) + line[len(stepped(old, step)) :])
    return found


def stepped(lead: str, step: int) -> str:
    """A lead with its number, if it has one, greater by a step."""
    digits = re.match(" *[0-9]+", lead)
    if not digits or not step:
        return lead
    return str(int(digits[0]) + step).rjust(digits.end()) + lead[digits.end() :]


def meant(mark: re.Match[str], above: Mapping[str, tuple[list[str], int]]) -> list[str]:
    """The lines that a reference names; `above` is, by its head, a text with such a line and where that line is."""
    first = split(mark[4])
    lead, head = first[0] + first[1], first[2]
    assert lead + head == mark[4], f"not a lead and a head: {mark[0]}"
    assert head in above, f"no line above has this head: {mark[0]}"
    source, at = above[head]
    count = number(mark[1] or mark[2])
    lines = source[at : at + count]
    assert len(lines) == count, f"only {len(lines)} lines above: {mark[0]}"
    there = "".join(split(lines[0])[:2])
    assert (there != lead) == bool(mark[3]), f"the lead above is {there!r}: {mark[0]}"
    lines = moved(lines, there, lead) if mark[3] else lines
    assert split(lines[0]) == first, f"{lines[0][:300]!r} is not the first line of {mark[0]}"
    return lines


LONGEST = 400_000
"""Characters of a text that counts."""


def written_out(text: str, marks: Sequence[re.Match[str] | None], newest: Above) -> tuple[list[str], Above]:
    """The lines of a text, those that its references name in their place, and where in it each head is first."""
    lines, own = list[str](), Above()
    for line, mark in zip_longest(text.split("\n"), marks):
        for one in meant(mark, ChainMap(own, newest)) if mark else [line]:
            own.setdefault(split(one)[2], (lines, len(lines)))
            lines.append(one)
    return lines, own


def unreferenced(view: Sequence[tuple[str, Sequence[str], bool]]) -> list[str]:
    """The contents of a view with the lines that references name in their place.

    Each message: its content, the texts in the arguments of its calls, whether the program put references into it.
    """
    newest: Above = {}
    contents: list[str] = []
    for content, texts, referenced in view:
        marks = [re.fullmatch(REFERENCE, line) for line in content.split("\n")]
        recalls = [bool(mark[5]) for mark in marks if mark]
        if referenced:
            assert recalls == [True] + [False] * (len(recalls) - 1), f"recall not in the first alone: {content[:300]!r}"
        lines, own = written_out(content, marks if referenced else [], newest)
        contents.append("\n".join(lines))
        if (referenced or not recalls) and len(content) <= LONGEST:
            newest.update(own)
        for text in filter(lambda one: len(one) <= LONGEST, texts):
            newest.update(written_out(text, [], newest)[1])
    return contents
