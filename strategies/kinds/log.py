"""log: the records of the log of a program or a system; lines that continue a record belong to it."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from strategies.kinds.kind import VARIABLE, Kind, Unit, first_lines, lines_of

DAY = r"(?:\d{4}[-/.]?\d\d[-/.]?\d\d|\d\d[-/](?:\d\d|[A-Z]\w\w)(?:[-/]\d{2,4})?|(?:[A-Z]\w\w,? )?[A-Z]\w\w [ \d]\d)"
TIME = r"\d\d:\d\d:\d\d(?:[.,:]\d{1,9})?(?: ?(?:Z|UTC|[AP]M|[-+]\d\d:?\d\d))?(?: \d{4})?(?=[\s\]|:)]|, [A-Za-z]|$)"
STAMP = rf"\[?(?:(?:{DAY}[T :,-]{{1,3}})?{TIME}|\d{{10}}\.\d+(?=[\s\]:])| {{0,9}}\d{{1,9}}\.\d{{6}}\])"
LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|SEVERE)"
BEFORE = (
    r"(?:<\d{1,3}>\d? ?|\[?[\w.:-]{1,60}+\]?[ \t]{1,20}+\|?[ \t]?|\S{1,60}+ \S{1,40}+ \S{1,40}+ (?=\[)|[A-Z]\d{4} )"
)
PLAIN = rf"{BEFORE}?{STAMP}|\[(?i:{LEVEL})\]|{LEVEL}(?::|[ \t]+(?![=(])\S)|npm (?i:warn|notice|http|info|err!|error) "
"""A record begins with a time of day, perhaps after its day, a word or the hosts of a request, or with a level."""
PAIRS = r"(?:time|ts|timestamp|level|lvl)=\S"
JSON = (
    r'\{(?=[^\n]{0,2000}?"(?:@?timestamp|time|ts|level|levelname|severity)" ?:)'
    r'(?=[^\n]{0,2000}?"(?:msg|message|event)" ?:)'
)
BEGINS = re.compile(f"(?P<json>{JSON})|(?P<pairs>{PAIRS})|{PLAIN}")
PAIR = re.compile(r'(?<![\w.@-])([\w.@-]{1,60})=("(?:[^"\\\n]|\\.)*"|[^\s"]*)')
WHEN = {"time", "ts", "timestamp", "@timestamp"}
SAYS = {"level", "levelname", "lvl", "severity", "msg", "message", "event"}
DIGIT = re.compile(r"\d")
VALUE = {
    ascii_: re.compile(rf'("[^"\n]{{0,2000}}"|(?<==)[^\s,;"]+|{variable})') for ascii_, variable in VARIABLE.items()
}


def units(text: str) -> Sequence[Unit] | None:
    """Each record is a unit, if it begins at half of the first lines that are not indented, and at three at least."""
    first = [line for line in first_lines(text) if not line[0].isspace()]
    begun = sum(map(bool, map(BEGINS.match, first)))
    if begun < 3 or begun < len(first) / 2:
        return None
    records: list[list[str]] = []
    for line in lines_of(text):
        if BEGINS.match(line) or not records:
            records.append([])
        records[-1].append(line)
    return [record(lines) for lines in records]


def record(lines: Sequence[str]) -> Unit:
    """A record: its shape is what it says, without its time; its cells are the values in it and its other fields."""
    line = lines[0].strip()
    begins = BEGINS.match(line)
    fields = fields_of(line, begins.lastgroup) if begins else {}
    says = " ".join(str(value).strip('"') for key, value in fields.items() if key in SAYS)
    if not fields:
        end = begins.end() if begins else 0
        says = DIGIT.sub("", line[:end]) + line[end:]
    others = {key: str(value) for key, value in fields.items() if key not in SAYS | WHEN}
    parts = VALUE[says.isascii()].split(says)
    return Unit("".join(lines), " ".join(["0".join(parts[::2]), *others]), (*parts[1::2], *others.values()))


def fields_of(line: str, form: str | None) -> dict[str, Any]:
    """The fields of a line of JSON or of key=value pairs; none of another line."""
    if form == "pairs":
        return dict(PAIR.findall(line))
    try:
        return json.loads(line) if form == "json" else {}
    except (ValueError, RecursionError):
        return {}


LOG = Kind("log", "log records", units)
