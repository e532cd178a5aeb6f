"""References: which articles are meant by "it", "the second one" or "the other", as far as the view still says."""

from __future__ import annotations

import re
from dataclasses import dataclass

from models.reader.view import View

TEXT = (
    r"(?:one|article|text|piece|page|document|entry|guide|sheet|story|history|explainer|how-to|interview|post-mortem|"
    r"comparison)s?\b"
)
THING = rf"(?: {TEXT})"
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_WHICH = rf"{'|'.join(ORDINALS)}|last|\d{{1,2}}(?:st|nd|rd|th)"
ORDINAL = re.compile(
    rf"\b(?:the )?(?P<which>{_WHICH}){THING}(?P<how>[^.?!,]*\b(?:listed|found|showed|named|read)\b)?"
    rf"|\bthe (?P<of>{_WHICH})(?: (?:of|from) (?:these|those|them|the list)|(?=\s*[?.!]*$))"
    r"|(?:\bnumber |\bno\.? |#)(?P<number>\d{1,2})\b",
    re.IGNORECASE,
)
_WE = r"\b(?:you|we|i) (?:have |had |['’]ve )?"
STARTED = re.compile(
    rf"\bthe (?:[\w-]+ )?{TEXT}[^.?!]*?{_WE}(?:read|opened|looked at) (?:first|at the (?:beginning|start))\b"
    rf"|\bthe (?:[\w-]+ )?{TEXT}[^.?!]*?{_WE}(?:started|began|begun|opened) with\b"
    rf"|\bthe first {TEXT} (?:that )?{_WE}(?:read|opened|looked at)\b",
    re.IGNORECASE,
)
"""What was read first."""
BOTH = re.compile(
    rf"\b(?:both(?:{THING}| of them|(?=\s*[?.!]*$))"
    rf"|(?:(?:the|these|those) two|these|those)(?:{THING}|(?=\s*[?.!]*$)))\b(?! \w+ing)",
    re.IGNORECASE,
)
OTHER = re.compile(
    rf"\bthe (?:other|previous|earlier|former){THING}?(?=\s*(?:[?.!,]|$|says?|article|to|with|and|about))"
    r"|\bthe one before(?: that| it)?\b|\bwhat you read before\b",
    re.IGNORECASE,
)
SAME = re.compile(
    r"\b(?:that|this|the same) (?:article|piece|story|guide|history|interview)\b"
    r"|\b(?:that|this) (?:one|text|page|document|sheet)\b"
    r"|\bthe article\b(?! (?:about|on|called|titled|named|for|of)\b)",
    re.IGNORECASE,
)
PRONOUN = re.compile(
    r"\b(?:it|its|they|them|their)\b|\b(?:this|that|those|there)\b(?=\s*(?:[?.!,]|$))"
    r"|\b(?:is|are|was|were|do|does|did) (?:this|that|those)\b(?! \w+ (?:of|is|are|was|were)\b)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reference:
    """What a text refers to: slugs, none where it is no longer in view. A bare pronoun is not `sure`."""

    slugs: tuple[str, ...]
    sure: bool = True


def without(text: str) -> str:
    """The text without its references."""
    for pattern in (STARTED, ORDINAL, OTHER, BOTH, SAME, PRONOUN):
        text = pattern.sub(" ", text)
    return " ".join(text.split())


def referent(text: str, view: View, listing_first: bool) -> Reference | None:
    """What the text refers to, None where it refers to nothing.

    An ordinal counts the list that was shown; when `listing_first` is not set and several articles were read, it
    counts those. "It" is what was read or cited last.
    """
    recent = tuple(dict.fromkeys(reversed(view.read)))
    if STARTED.search(text):
        return Reference(tuple(dict.fromkeys(view.read))[:1])
    if found := ORDINAL.search(text):
        read, how = tuple(dict.fromkeys(view.read)), found["how"] or ""
        of_read = "read" in how or (len(read) > 1 and not listing_first and not how)
        listed = view.listed or (read if len(read) > 1 else view.found)
        return Reference(_at(found, read if of_read else listed))
    if OTHER.search(text):
        return Reference(recent[1:2])
    if BOTH.search(text):
        return Reference(tuple(reversed(recent[:2])))
    if SAME.search(text):
        return Reference(recent[:1])
    return Reference(recent[:1], sure=False) if PRONOUN.search(text) else None


def _at(found: re.Match[str], slugs: tuple[str, ...]) -> tuple[str, ...]:
    which = (found["which"] or found["of"] or found["number"]).lower()
    if which == "last":
        return slugs[-1:]
    at = ORDINALS.index(which) if which in ORDINALS else int(re.sub(r"\D", "", which)) - 1
    return slugs[at : at + 1] if at >= 0 else ()


def named(text: str, view: View) -> Reference | None:
    """The articles that a text names outright by slug, or less surely by the words of a title."""
    low = text.lower()
    slugs = tuple(
        slug for slug in re.findall(r"(?<![\w-])[a-z0-9]+(?:-[a-z0-9]+)+(?![\w-])", low) if slug in view.entries
    )
    titled = tuple(slug for slug, entry in view.entries.items() if " " in entry.title and entry.title.lower() in low)
    outright = bool(re.search(r"\b(?:article|text|page)s?\b|[\[`]", low))
    return Reference(slugs, outright) if slugs else Reference(titled, sure=False) if titled else None
