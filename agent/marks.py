"""Marks: how a copy of a result says what is not in it. Strategies write them; a reader must not take them for text."""

from __future__ import annotations

import re
from dataclasses import dataclass

GONE = re.compile(r"\A\s*(?:\[(?:masked|offloaded|shortened|cancelled|dropped)\b|\Z)")
WORDLESS = re.compile(
    r"^\[(?:[^\[\]\n]*words that say little are left out\b|[\d,]+ of [\d,]+ words; recall\()", re.MULTILINE
)
"""A text whose sentences lack words."""
NOTE = re.compile(r"\[(?:left out: [^\n]*?|the line above, [\d,]+ times in all|JSON as tables: [^\n]*)\]\n?")
"""What is told of a text that is there."""
ALL = r'; recall\(id="(?P<{}>[^"\n]+)"\) shows (?:all|it)\b'
CUT = r"\n?\[…(?: [\d,]+ tokens cut …)?\]\n?"
ABOVE = " as above, "
"""What every reference has."""
REPEATED = re.compile(
    rf"^\[(?P<lines>\d[\d,]{{0,10}}) lines?{ABOVE}(?:now )?from `(?P<first>.*)`(?:{ALL.format('repeated')})?\]$",
    re.MULTILINE,
)
"""A reference: so many lines, the first of which begins so, stand above in the view (`agent.references`)."""
GAP = re.compile(
    rf"(?P<cut>{CUT})|\[(?:[\d,]+ of [\d,]+ [^\[\]\n]+?{ALL.format('excerpt')}"
    rf"|[\d,]+ (?:left out|more characters(?: of base64)?))\]\n?|{REPEATED.pattern}\n?",
    re.MULTILINE,
)
"""What stands in the place of a part; `cut` is one that begins and ends anywhere."""
REFERENCE = re.compile(rf"\A[^\n]*?{ALL.format('id')}")
END = re.compile(r"[.!?](?=\s)|\n")
"""The end of a sentence or of a line."""


@dataclass(frozen=True, slots=True)
class Shown:
    """What a result in view is.

    `text` is what can be quoted: without marks, and without the halves of sentences around a gap. `whole`: nothing of
    the result is left out. `id`: what `recall` shows all of it by, "" where no mark says so.
    """

    text: str
    whole: bool = True
    id: str = ""


def shown(content: str) -> Shown:
    """What a result shows, whatever a strategy did to it."""
    if GONE.match(content) or WORDLESS.search(content):
        found = REFERENCE.match(content)
        return Shown("", False, found["id"] if found else "")
    text = NOTE.sub("", content)
    gaps = [*GAP.finditer(text)]
    ids = [gap["excerpt"] or gap["repeated"] for gap in gaps]
    edges = [0, *(place for gap in gaps for place in gap.span()), len(text)]
    stretches = []
    for at, (start, stop) in enumerate(zip(edges[::2], edges[1::2], strict=True)):
        stretch = text[start:stop]
        if at and not _ends_a_line(gaps[at - 1]):
            stretch = stretch[end.end() :] if (end := END.search(stretch)) else ""
        if at < len(gaps):
            stretch = stretch[: max((end.end() for end in END.finditer(stretch)), default=0)]
        stretches.append(stretch)
    return Shown("\n\n".join(stretches), not gaps, next(filter(None, ids), ""))


def _ends_a_line(gap: re.Match[str]) -> bool:
    """Whether a new line of the result begins after a gap."""
    return not gap["cut"] and gap[0].endswith("\n")
