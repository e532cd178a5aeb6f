"""The text of a terminal without what a reader has no use for: what went, and how much, is counted."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby

STYLE = re.compile(r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|[@-Z\\^_])")
TITLE = re.compile(r"\x1b\][^\x07\x1b\n]*+(?:\x07|\x1b\\)")
REDRAWN = re.compile(r"(?<![^\r\n])[^\r\n]++\r++(?=[^\r\n])")
DRAWING = re.compile(r"[^\r\n]*+")
PROGRESS = re.compile(r"\d ?%|[#=>█━▏.-]{4}")
CHANGES = re.compile(r"(?:[^\w%]|\d)++")
"""What changes from one drawing of a progress bar to the next."""
BLANKS = re.compile(r"(?<![ \t\r])[ \t\r]++$", re.MULTILINE)
CODED = "[A-Za-z0-9+/]"
BLOCK = re.compile(
    rf"^(?:{CODED}{{60,120}}+\n){{4,}}+{CODED}*+={{0,2}}|(?<!{CODED}){CODED}{{240,}}+={{0,2}}", re.MULTILINE
)
SHOWN = 16
"""Characters of a block of base64 that stay."""
REPEATS = 3
"""A line that comes more often than this in a row is shown once."""


def tidied(text: str, lossy: bool = True) -> tuple[str, Counter[str]]:
    """The text, and how many of what went, by its name for one; in linear time.

    What went: terminal sequences, drawings of a progress bar but the last, blanks at the end of lines, lines that
    repeat the line before. If `lossy`, also sequences that hold a text (titles, links), drawings of any line but the
    last, and blocks of base64. A repeated line and a block leave a marker in their place.
    """
    went: Counter[str] = Counter()

    def redrawn(match: re.Match[str]) -> str:
        following = DRAWING.match(match.string, match.end())
        goes = following is not None and _is_progress(match[0], following[0])
        went["overwritten line"] += goes
        return "" if goes else match[0]

    def block(match: re.Match[str]) -> str:
        shown = _shown(match[0])
        went["base64 block"] += shown != match[0]
        return shown

    def once(lines: Iterator[str]) -> Iterator[str]:
        for line, run in groupby(lines):
            times = sum(1 for _ in run)
            if times > REPEATS:
                went["repeated line"] += times - 1
                yield f"{line}\n[the line above, {times:,} times in all]"
            else:
                yield from [line] * times

    for pattern in (STYLE, TITLE) if lossy else (STYLE,):
        text, count = pattern.subn("", text)
        went["terminal sequence"] += count
    if lossy:
        text, went["overwritten line"] = REDRAWN.subn("", text)
    else:
        text = REDRAWN.sub(redrawn, text)
    bare = BLANKS.sub("", text)
    went["trailing blank"] = len(text) - len(bare)
    text = "\n".join(once(iter((BLOCK.sub(block, bare) if lossy else bare).split("\n"))))
    return text, +went


def _is_progress(drawing: str, following: str) -> bool:
    """Whether two drawings of a line are of a progress bar, and say the same but for how far it is."""
    both = drawing, following
    return all(map(PROGRESS.search, both)) and CHANGES.sub("", drawing) == CHANGES.sub("", following)


def _shown(block: str) -> str:
    if not all(re.search(kind, block) for kind in ("[0-9]", "[A-Z]", "[a-z]")):
        return block
    return f"{block[:SHOWN]}[{len(block) - SHOWN:,} more characters of base64]"
