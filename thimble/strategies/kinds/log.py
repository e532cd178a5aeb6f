"""log: the records of the log of a program or a system; lines that continue a record belong to it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from thimble.strategies.kinds.unit import DIGIT, Unit, lines_of, parted

LEVEL = r"(?:TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|CRITICAL|FATAL|SEVERE)"
STAMP = re.compile(
    rf"(?=\S).{{0,60}}?(?<!\d)\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?|\[?{LEVEL}(?:[\]:]|\s+\w)|.{{0,40}}?\b(?:ts|time)=\S+"
)
"""A record begins with a time of day or a level, perhaps behind a few words."""
VALUE = re.compile(r'("(?:[^"\\\n]|\\.){0,2000}"|(?<==)[^\s,;"]+)')


def units(text: str) -> Sequence[Unit] | None:
    """Each record is a unit, if it begins at half of the first lines that are not indented, and at three at least."""
    lines = lines_of(text)
    first = [line for line in lines[:50] if not line[0].isspace()]
    begun = sum(map(bool, map(STAMP.match, first)))
    if begun < 3 or begun < len(first) / 2:
        return None
    records: list[list[str]] = []
    for line in lines:
        if STAMP.match(line) or not records:
            records.append([])
        records[-1].append(line)
    return [_record(lines) for lines in records]


def _record(lines: Sequence[str]) -> Unit:
    """A record: its shape is its first line without its time and the values in it, which are its cells."""
    line = lines[0].strip()
    begins = STAMP.match(line)
    end = begins.end() if begins else 0
    parts = VALUE.split(DIGIT.sub("", line[:end]) + line[end:])
    shape, cells = parted('""'.join(parts[::2]))
    return Unit("".join(lines), shape, (*parts[1::2], *cells))
