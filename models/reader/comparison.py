"""Comparisons: what to call the sides, and which words they share."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from models.reader.language import ALIKE, COMMON_VERBS, STOPWORDS, WORD, stem, terms
from models.reader.observation import Sentence
from models.reader.question import Part
from models.reader.ranking import Evidence

SHARED = 3
PLAIN = frozenset(map(stem, COMMON_VERBS)) | frozenset(ALIKE.values())
"""Stems of verbs and adjectives that say nothing as a thing in common."""


def heading(part: Part, slug: str, evidence: Evidence) -> str:
    """The side as the user called it, with the title of its article."""
    entry = evidence.view.entries.get(slug)
    title = entry.title if entry else slug
    if not part.words:
        return title
    called = part.text.strip()
    return f"{called[:1].upper()}{called[1:]} (“{title}”)"


def common_words(sides: Sequence[Sequence[Sentence]], named: frozenset[str]) -> list[str]:
    """Up to three words that every side uses often, as they are mostly written; those of the question left out."""
    counts = [Counter(term for sentence in side for term in terms(sentence.text)) for side in sides]
    shared = set(counts[0]).intersection(*counts[1:]) - named - PLAIN if len(counts) > 1 else set()
    often = {term: min(count[term] / len(side) for count, side in zip(counts, sides, strict=True)) for term in shared}
    best = sorted((term for term in shared if min(count[term] for count in counts) > 1), key=lambda t: (-often[t], t))
    written = Counter(word for side in sides for s in side for word in WORD.findall(s.text.lower()))
    spelled = (_spelled(term, written) for term in best[: 4 * SHARED])
    return [word for word in spelled if len(word) > 3 and word.isalpha()][:SHARED]


def _spelled(term: str, written: Counter[str]) -> str:
    ways = [word for word in written if word not in STOPWORDS and stem(word) == term]
    return max(ways, key=lambda word: (written[word], word), default="")
