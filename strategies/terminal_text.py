"""The text of a terminal without what a reader has no use for: what went, and how much, is counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby

SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b\n]*+(?:\x07|\x1b\\)|[@-Z\\^_])")
REDRAWN = re.compile(r"(?<![^\r\n])[^\r\n]++\r++(?=[^\r\n])")
BLANKS = re.compile(r"(?<![ \t\r])[ \t\r]++$", re.MULTILINE)
CODED = "[A-Za-z0-9+/]"
WALL = re.compile(
    rf"^(?:{CODED}{{60,120}}+\n){{4,}}+{CODED}*+={{0,2}}|(?<!{CODED}){CODED}{{240,}}+={{0,2}}", re.MULTILINE
)
SHOWN = 16
"""Characters of a wall of base64 that stay."""
REPEATS = 3
"""A line that comes more often than this in a row is shown once."""


def tidied(text: str) -> tuple[str, Counter[str]]:
    """The text, and how many of what went; in linear time.

    What went: terminal sequences, all but the last drawing of a redrawn line, blanks at the end of lines, lines that
    repeat the line before, walls of base64. The last two leave a marker in their place.
    """
    went: Counter[str] = Counter()

    def wall(match: re.Match[str]) -> str:
        shown = _shown(match[0])
        went["walls of base64"] += shown != match[0]
        return shown

    def once(lines: Iterator[str]) -> Iterator[str]:
        for line, run in groupby(lines):
            times = sum(1 for _ in run)
            if times > REPEATS:
                went["repeated lines"] += times - 1
                yield f"{line}\n[the line above, {times:,} times in all]"
            else:
                yield from [line] * times

    for pattern, what in (
        (SEQUENCE, "terminal sequences"),
        (REDRAWN, "drawings of lines"),
        (BLANKS, "blank line ends"),
    ):
        text, went[what] = pattern.subn("", text)
    text = "\n".join(once(iter(WALL.sub(wall, text).split("\n"))))
    return text, +went


def _shown(wall: str) -> str:
    if not all(re.search(kind, wall) for kind in ("[0-9]", "[A-Z]", "[a-z]")):
        return wall
    return f"{wall[:SHOWN]}[{len(wall) - SHOWN:,} more characters of base64]"
