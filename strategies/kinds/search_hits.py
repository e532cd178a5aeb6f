"""search_hits: the lines that a search found in files, as grep and ripgrep write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from strategies.kinds.kind import Kind, Unit, first_lines, lines_of

LINE = re.compile(
    r"(?P<none>\s*$|--$)"
    r"|(?P<hit>(?:(?P<file>(?=[\d.-]{0,99}[^\s:\d.-])[^\s:]{1,255}):)?(?P<number>\d{1,7}):"
    r"|(?P<bare>[^\s:]{1,255}/[^\s:]{1,255}):(?!//)(?=.))"
    r"|(?P<near>(?:[^\s:]{1,255}?-)?\d{1,7}-|Binary file |grep: |rg: )"
    r"|(?P<heading>[^\s:*?\"<>|=;,(){}$`]{1,255}$)"
)
"""A hit is file:line:text, file:text, or line:text below the name of its file. Near it are lines of its context."""
FIRST, HEADING, NEAR, NONE = 2.0, 4.0, -2.0, -4.0
"""Bits of the first hit of a file, of the name of a file above its hits, of a line near a hit, and of no line."""


def units(text: str) -> Sequence[Unit] | None:
    """Each line is a unit, if seven of ten of the first lines are hits and what stands around them."""
    first = first_lines(text)
    if sum(":" in line for line in first) < 3:
        return None
    found = [one for line in first if (one := LINE.match(line))]
    hits = [one for one in found if one["hit"]]
    if len(hits) < 3 or len(found) < 0.7 * len(first) or len(hits) < 0.1 * len(found) or _counted(found):
        return None
    result, file = [], ""
    for line in lines_of(text):
        one = LINE.match(line)
        before = file
        if one and one["heading"]:
            file = line.strip()
        elif one and one["hit"]:
            file = one["file"] or one["bare"] or file
        result.append(_unit(line, one, file, file != before))
    return result


def _counted(found: Sequence[re.Match[str]]) -> bool:
    """Whether the lines of a text are numbered one by one, or begin with other numbers: no file, no growing number."""
    if any(one["heading"] or one["file"] or one["bare"] for one in found):
        return False
    numbers = [int(one["number"]) for one in found if one["number"]]
    return not all(now < then for now, then in pairwise(numbers)) or numbers[-1] - numbers[0] < len(found)


def _unit(line: str, one: re.Match[str] | None, file: str, new: bool) -> Unit:
    """A hit differs from others in its file and its text; the number of its line says nothing."""
    said = line[one.end() if one else 0 :].strip()
    if one and one["hit"]:
        return Unit(line, "hit", (file, said), FIRST if new else 0.0)
    if one and one["near"]:
        return Unit(line, "near", (file, said), NEAR)
    if one and one["heading"]:
        return Unit(line, "file", (file,), HEADING)
    return Unit(line, said, (), NONE if one else 0.0)


SEARCH_HITS = Kind("search hits", "hits and lines", units)
