"""Lines: which lines of a file a request means."""

from __future__ import annotations

import re
from dataclasses import dataclass

FEW = 10
"""The lines that the end of a file has, where nothing says how many."""
NUMBER = r"\d[\d,]{0,9}"
LINES = r"(?:lines?|records?|entry|entries)"
NUMBERED = re.compile(
    rf"(?P<open>\bfrom\s+)?\b{LINES}\s+(?:number\s+)?(?P<first>{NUMBER})\b"
    rf"(?:\s*(?:-|–|to|until|through|and)\s*(?:line\s+)?(?P<last>{NUMBER})|\s+(?P<on>on|onwards?|to the end)\b)?",
    re.IGNORECASE,
)
COUNTED = re.compile(rf"\b(?P<which>first|last|next)\s+(?:(?P<many>{NUMBER})\s+)?(?P<lines>{LINES})\b", re.IGNORECASE)
END = re.compile(r"\b(?:end|bottom|tail) of\b", re.IGNORECASE)
ON = re.compile(
    r"\W*(?:(?:and|now|then|please|ok|show|read|give|tell|me)\W+)*(?:(?:read|go|carry)\s+on|on|keep\s+reading|continue|"
    r"(?:the\s+)?(?:rest|next\s+(?:page|part))|more(?=\s+of\b|\W*$))\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Lines:
    """Lines from `start` on; `many` of them, or 0 where nothing says how many.

    A negative `start` counts from the end of the file, 0 goes on after what was shown.
    """

    start: int = 1
    many: int = 0


FIRST = Lines()


def lines(text: str) -> Lines | None:
    """The lines that a request names; None where it names none."""
    if found := NUMBERED.search(text):
        first, last = _number(found["first"]), _number(found["last"])
        one = not (found["open"] or found["on"] or "s " in found[0].lower())
        return Lines(max(1, first), max(1, last - first + 1) if last else int(one))
    if found := COUNTED.search(text):
        many = _number(found["many"]) or int(not found["lines"].lower().endswith("s"))
        start = {"first": 1, "next": 0, "last": -(many or FEW)}[found["which"].lower()]
        return Lines(start, many)
    if END.search(text):
        return Lines(-FEW)
    return Lines(0) if ON.match(text) else None


def _number(digits: str | None) -> int:
    return int(digits.replace(",", "")) if digits else 0
