"""Comparisons: the two things that a question compares."""

from __future__ import annotations

import re

_AND = r"\s+(?:and|with|to|from|versus|vs\.?|against)\s+"
COMPARISON = re.compile(
    rf"\bcompare\b(?:.*?\b(?:about|of|between)\b)?\s+(?P<one>[^?]+?){_AND}(?P<other>[^?]+?)\W*$"
    rf"|\bdifferences? between\s+(?P<this>[^?]+?)\s+and\s+(?P<that>[^?]+?)\W*$"
    rf"|\bhow (?:do|does|is|are)\s+(?P<first>[^?]+?)\s+(?:differ(?:ent)?|compare){_AND}(?P<second>[^?]+?)\W*$",
    re.IGNORECASE,
)


def compared(text: str) -> tuple[str, str] | None:
    """The two things that a question compares, in its own words; None if it compares nothing."""
    found = COMPARISON.search(text[:500])
    one, other = [" ".join(each.split()) for each in found.groups() if each] if found else ("", "")
    return (one, other) if one and other and one != other else None
