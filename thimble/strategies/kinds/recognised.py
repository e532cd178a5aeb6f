"""The kinds of text that tools return: the first one that cuts a text into units wins."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from thimble.strategies.kinds import html_page, json_records, log, prose, source_code, table_rows
from thimble.strategies.kinds.unit import Unit, line_unit, lines_of

Units = Callable[[str], Sequence[Unit] | None]
"""Cuts a text, or returns None if it is not of this kind. It takes time in proportion to the text, and never fails."""

TEXT_KINDS: dict[str, tuple[str, Units]] = {
    "HTML": ("pieces of the page", html_page.units),
    "JSON": ("JSON records", json_records.units),
    "log": ("log records", log.units),
    "source code": ("lines of code", source_code.units),
    "prose": ("sentences", prose.units),
    "table": ("rows", table_rows.units),
}
"""By name: what the units of the kind are called, and what cuts a text into them."""
LINE_NUMBER = re.compile(r" {0,8}(\d{1,9})(?:: |\t)")
"""How `read_file` and `cat -n` number a line."""


Recognised = tuple[str, str, Sequence[Unit]]


@lru_cache(maxsize=64)
def recognised(text: str) -> Recognised:
    """The name of the kind of a text, what its units are called, and these. Numbers before its lines do not matter."""
    lines = lines_of(text)
    numbers = [found[0] if (found := LINE_NUMBER.match(line)) else "" for line in lines]
    counted = [int(number.rstrip(": \t")) for number in numbers if number]
    if len(counted) < max(3, 0.9 * len(lines) - 2) or counted != list(range(counted[0], counted[0] + len(counted))):
        return _cut(text)
    name, noun, units = _cut("".join(map(str.removeprefix, lines, numbers)))
    return name, noun, list(_with_numbers(units, numbers))


def _cut(text: str) -> Recognised:
    for name, (noun, cut) in TEXT_KINDS.items():
        if (units := cut(text)) is not None:
            return name, noun, units
    return "lines", "lines", list(map(line_unit, lines_of(text)))


def _with_numbers(units: Sequence[Unit], numbers: Sequence[str]) -> Iterator[Unit]:
    """The units of a text with a number before each of its lines."""
    left, begins = iter(numbers), True
    for unit in units:
        written = list[str]()
        for line in lines_of(unit.text):
            written += [next(left, "") if begins else "", line]
            begins = line.endswith("\n")
        yield replace(unit, text="".join(written))
