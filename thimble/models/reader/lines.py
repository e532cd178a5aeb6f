"""Lines: which lines of a file a request means."""

from __future__ import annotations

import re
from dataclasses import dataclass

WRITTEN_LINE = r"\d[\d,]{0,9}"
NUMBERED = re.compile(
    rf"\b(?:lines?|records?|entry|entries)\s+(?P<first>{WRITTEN_LINE})\b(?:\s*(?:-|–|to|until|through|and)\s*(?P<last>{WRITTEN_LINE}))?",
    re.IGNORECASE,
)
ON = re.compile(
    r"\W*(?:(?:and|now|then|please|ok|show|read|give|tell|me)\W+)*(?:(?:read|go|carry)\s+on|on|keep\s+reading|continue|"
    r"(?:the\s+)?(?:rest|next\s+(?:page|part|lines))|more(?=\s+of\b|\W*$))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines from `start` on, where 0 goes on after what was shown; `many` of them, or 0 where nothing says how many."""

    start: int = 1
    many: int = 0


def lines(text: str) -> LineRange | None:
    """The lines that a request names; None where it names none."""
    if found := NUMBERED.search(text):
        first, last = (int(digits.replace(",", "")) if digits else 0 for digits in (found["first"], found["last"]))
        return LineRange(max(1, first), max(1, last - first + 1))
    return LineRange(0) if ON.match(text) else None
