"""Matching: which article a few words mean, among those that are named in view."""

from __future__ import annotations

import math
from collections import Counter

from models.reader import wording
from models.reader.language import terms
from models.reader.observation import Entry
from models.reader.question import Ask, Part
from models.reader.ranking import Evidence

ENOUGH, SOME = 0.55, 0.25
"""Shares of a topic's weight that the name of an article must hold: of any article, and of one of those read."""


def article(part: Part, evidence: Evidence) -> str:
    """The slug of the article that a part means, "" where none in view comes near."""
    if part.sure and part.focus:
        return part.focus[0]
    return _nearest(part, list(evidence.view.entries.values()), ENOUGH)


def side(ask: Ask, part: Part, evidence: Evidence) -> str:
    """The article that a side of a comparison means: one that was read, when the question speaks of those."""
    learned = evidence.view.read if wording.LEARNED.search(ask.text) else ()
    read = [entry for slug, entry in evidence.view.entries.items() if slug in learned]
    if read and not part.focus and (slug := _nearest(part, read, SOME) or _most_spoken(part, read, evidence)):
        return slug
    return article(part, evidence)


def _most_spoken(part: Part, entries: list[Entry], evidence: Evidence) -> str:
    """The article whose sentences in view speak of the topic most often, if at least two do."""
    often = {
        entry.slug: sum(bool(part.terms & terms(one.text)) for one in evidence.of(entry.slug)) for entry in entries
    }
    best = max(often, key=lambda slug: often[slug])
    return best if often[best] > 1 else ""


def _nearest(part: Part, entries: list[Entry], least: float) -> str:
    marks = {entry.slug: _mark(part, entry, entries) for entry in entries}
    best = max(marks, key=lambda slug: marks[slug], default="")
    return best if best and marks[best] >= least else ""


def _mark(part: Part, entry: Entry, entries: list[Entry]) -> float:
    """The share of the topic that the name holds, a third of it for the gist; a name with little else is preferred."""
    df = Counter(term for other in entries for term in terms(f"{other.title} {other.slug}"))
    weight = {term: math.log(2 + len(entries) / (1 + df[term])) for term in part.terms}
    name, gist = terms(f"{entry.title} {entry.slug}"), terms(entry.gist)
    held = sum(w * (1.0 if term in name else 0.35 if term in gist else 0.0) for term, w in weight.items())
    tight = len(part.terms & name) / max(1, len(name))
    return held / sum(weight.values()) + 0.1 * tight if weight else 0.0
