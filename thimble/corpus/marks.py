"""Marks: notes in a copy of a result on its missing parts. Strategies write them; a reader must not quote them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from thimble.agent.fates import MASK
from thimble.agent.messages import CANCELLED, NO_RESULT

GONE_MARK = re.compile(rf"\A\s*(?:{MASK}|\[offloaded: |\[shortened to a brief: |\Z)")
WORDLESS = re.compile(r"\A\[[\d,]+ of [\d,]+ words; recall\(")
"""A text whose sentences lack words."""
NOTE_MARK = re.compile(
    r"^\[(?:(?:left out: [^\n]*?|[\d,]+ lines of JSON as tables: [^\n]*)\]\n?|[\d,]+ times\] )",
    re.MULTILINE,
)
"""A note on text that is present."""
RECALL_TIP = r'; recall\(id="(?P<{}>[^"\n]+)"\) shows (?:all|it)\b'
CUT_MARK = r"\n\[… [\d,]+ tokens cut …\]\n| ?\[…\]\Z"
ABOVE = " as above, "
"""Words of every reference."""
REPEATED = re.compile(
    rf"^\[(?P<lines>\d[\d,]{{0,10}}) lines?{ABOVE}(?:now )?from `(?P<first>.*)`(?:{RECALL_TIP.format('repeated')})?\]$",
    re.MULTILINE,
)
"""A reference to lines above in the view: their number, and the beginning of the first (`compression.references`)."""
GAP = re.compile(
    rf"(?P<cut>{CUT_MARK})|(?:\A\[[\d,]+ of [\d,]+ [^\[\]\n]+?{RECALL_TIP.format('excerpt')}"
    rf"|\[[\d,]+ (?:left out|more characters))\]\n?|{REPEATED.pattern}\n?",
    re.MULTILINE,
)
"""A mark in the place of a missing part; `cut`: the part starts and ends anywhere."""
REFERENCE = re.compile(rf"\A[^\n]*?{RECALL_TIP.format('id')}")
OUR_MARK = re.compile(
    r"^\[(?:left out: |[\d,]+ (?:times\] |lines (?:of JSON as tables: |as above, ))|…|[^\[\]\n]*recall\(id=)",
    re.MULTILINE,
)
"""A line that looks like a mark of ours: a result with one is not rewritten, since the two could not be separated."""
END = re.compile(r"[.!?](?=\s)|\n")
"""The end of a sentence or of a line."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The part of a result that is in view.

    `text` is the part to quote: without marks, and without the halves of sentences around a gap. `whole`: no part of
    the result is left out. `id`: the id by which `recall` shows all of it, "" if no mark names one.
    """

    text: str
    whole: bool = True
    id: str = ""


def read_marks(content: str, copy_of: str = "") -> Shown:
    """The part of a result that is in view, whatever a strategy did to it.

    `copy_of`: the id of the message that it is a copy of. Only a copy has marks: an original result is all text.
    """
    if content in (CANCELLED, NO_RESULT):
        return Shown("", False)
    if not copy_of:
        return Shown(content)
    if GONE_MARK.match(content) or WORDLESS.search(content):
        found = REFERENCE.match(content)
        if not found or found["id"] == copy_of:
            return Shown("", False, copy_of if found else "")
    text = NOTE_MARK.sub("", content)
    gaps = [*_iter_gaps(text, copy_of)]
    more = copy_of if any(gap["excerpt"] or gap["repeated"] for gap in gaps) else ""
    edges = [0, *(place for gap in gaps for place in gap.span()), len(text)]
    stretches = []
    for at, (start, stop) in enumerate(zip(edges[::2], edges[1::2], strict=True)):
        stretch = text[start:stop]
        if at and not _starts_new_line(gaps[at - 1]):
            stretch = stretch[end.end() :] if (end := END.search(stretch)) else ""
        if at < len(gaps):
            stretch = stretch[: max((end.end() for end in END.finditer(stretch)), default=0)]
        stretches.append(stretch)
    return Shown("\n\n".join(stretches), not gaps, more)


def _iter_gaps(text: str, copy_of: str) -> Iterator[re.Match[str]]:
    """The gaps of a copy: those of `fit`, and all others from the first one on that has its id."""
    named = False
    for gap in GAP.finditer(text):
        id_ = gap["excerpt"] or gap["repeated"]
        named = named or id_ == copy_of
        if gap["cut"] or (named and id_ in (None, copy_of)):
            yield gap


def _starts_new_line(gap: re.Match[str]) -> bool:
    """Whether a new line of the result starts after a gap."""
    return not gap["cut"] and gap[0].endswith("\n")
