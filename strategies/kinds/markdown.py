"""markdown: a page of Markdown; its units are headings, sentences, and the lines of its tables and code blocks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from strategies.kinds.kind import Kind, Unit, line_unit, lines_of
from strategies.kinds.prose import LINE, sentences

FENCE = re.compile(r" {0,3}(?:```|~~~)")
HEADING = re.compile(r"#{1,6} \S")
UNDERLINE = re.compile(r"(?:={3,}|-{3,})\s*+")
ROW = re.compile(r"\s*+\|")
LINKS = re.compile(r"\s*+(?:[-*+] )?(?:\[?!?\[[^\]\n]*+\]\([^)\n]*+\)(?:\]\([^)\n]*+\))?\s*+)++")
HEADS, CODE, BADGES = 3.0, 1.0, -8.0
"""Bits of a heading, of a line of a code block, of a line of badges."""
LOOKED_AT = 8_000
"""Characters from which it is decided whether a text is Markdown."""


def units(text: str) -> Sequence[Unit] | None:
    """The units of a page of Markdown; None where headings after blank lines are missing.

    Comments of a shell or of settings begin with one `#` too: so a page needs a heading of level two, or a fence.
    """
    if "# " not in text[:LOOKED_AT]:
        return None
    lines = lines_of(text[:LOOKED_AT])
    headings = [line for before, line in pairwise(["\n", *lines]) if HEADING.match(line) and before.isspace()]
    deep = len(headings) > 1 and any(line.startswith("##") for line in headings)
    page = deep or (headings and any(map(FENCE.match, lines)))
    return list(pieces(text)) if page and 3 * len(headings) <= len(lines) else None


def pieces(text: str) -> Iterator[Unit]:
    """The units of a text that is Markdown."""
    fenced = False
    for line in LINE.findall(text):
        fence = bool(FENCE.match(line))
        if fence or fenced:
            yield line_unit(line, 0.0 if fence else CODE)
            fenced = fenced != fence
        elif HEADING.match(line) or UNDERLINE.fullmatch(line):
            yield Unit(line, "heading", weight=HEADS)
        elif LINKS.fullmatch(line):
            yield Unit(line, "badges", weight=BADGES)
        elif ROW.match(line):
            yield line_unit(line)
        else:
            yield from sentences(line)


MARKDOWN = Kind("Markdown", "parts of the page", units)
