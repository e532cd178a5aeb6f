"""numbered: a text without the numbers of its lines, with which read_file, `cat -n` and `git blame` show a file."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from strategies.kinds.kind import Unit, lines_of

BLAME = r"\^?[0-9a-f]{7,40} (?:[^)\n]{0,400} )?"
"""What `git blame` writes before the number of a line."""
NUMBER = re.compile(rf"({BLAME})? {{0,8}}\d{{1,9}}((?(1)\)|(?:\t|[:|-]| {{2}})))")
GREP = "[:-]"
"""What grep writes behind the number of a line: of one that it found, of one near it."""
LEAST, AROUND = 3, 3
"""Lines that have numbers, at least; other lines before these and behind these, at most, or half as many behind."""


def cut(text: str) -> tuple[list[str], list[tuple[str, str]], list[str]] | None:
    """The lines before the numbered ones; these, each as its number and the rest; and the lines behind them.

    None for a text whose lines are not numbered.
    """
    if not any(map(NUMBER.match, text[:2_000].split("\n")[: AROUND + 1])):
        return None
    lines = lines_of(text)
    first, shown = next((place, found) for place, line in enumerate(lines) if (found := NUMBER.match(line)))
    blame, mark = shown.groups("")
    mark = GREP if mark in ":-" else re.escape(mark)
    begins = re.compile(rf"{BLAME if blame else ''} {{0,8}}(\d{{1,9}})(?:{mark}|(?=\n|$))")
    numbered, last = list[tuple[str, str]](), 0
    for line in lines[first:]:
        found = begins.match(line)
        if not found or (numbered and int(found[1]) != last + 1):
            break
        last = int(found[1])
        numbered.append((found[0], line[found.end() :]))
    if all(line[:1] in (" ", "\n", "") for _, line in numbered):
        numbered = [(f"{number} ", line[1:]) if line[:1] == " " else (number, line) for number, line in numbered]
    behind = lines[first + len(numbered) :]
    few = len(behind) <= max(AROUND, len(numbered) / 2)
    return (lines[:first], numbered, behind) if len(numbered) >= LEAST and few else None


def with_numbers(units: Iterable[Unit], numbers: Iterable[str]) -> Iterator[Unit]:
    """The units of a text with a number before each of its lines."""
    left, begins = iter(numbers), True
    for unit in units:
        written = []
        for line in lines_of(unit.text):
            written += [next(left) if begins else "", line]
            begins = line.endswith("\n")
        yield replace(unit, text="".join(written), shown=unit.shown and written[0] + unit.shown)
