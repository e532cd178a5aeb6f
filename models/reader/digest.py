"""Digests: the few sentences that say most of what a text says, chosen and never rewritten."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from models.reader.language import WORD, terms
from models.reader.observation import SUMMARY, Sentence
from models.reader.shape import DANGLING

LENGTH = range(8, 42)
"""Words of a sentence that is pleasant to quote."""
VERB = re.compile(r"\b(?:is|are|was|were|has|have|had|can|may|must|will|do|should|could|would|\w{2,}(?:s|ed))\b")
"""A finite verb, roughly."""
TALK = re.compile(r"\b(?:I|[Yy]ou|[Yy]our)\b")
"""Words that speak to somebody instead of stating something."""


def key_sentences(sentences: Sequence[Sentence], most: int, about: Mapping[str, float] | None = None) -> list[Sentence]:
    """At most `most` sentences in their order, spread over the sections: central, self-contained, and about `about`.

    A sentence is central when its words are frequent in the text as a whole.
    """
    count = Counter(term for sentence in sentences for term in terms(sentence.text))
    first: dict[tuple[str, str], int] = {}
    for at, sentence in enumerate(sentences):
        first.setdefault((sentence.source, sentence.section), at)
    marks = {at: _mark(s, count, about or {}, at in first.values()) for at, s in enumerate(sentences)}
    chosen: list[int] = []
    each = -(-most // len(first)) if first else 0
    taken: Counter[tuple[str, str]] = Counter()
    for at in sorted(marks, key=lambda at: (-marks[at], at)):
        section = (sentences[at].source, sentences[at].section)
        if len(chosen) < most and taken[section] < each and not _repeats(at, chosen, sentences):
            chosen.append(at)
            taken[section] += 1
    return [sentences[at] for at in sorted(chosen)]


def _mark(sentence: Sentence, count: Counter[str], about: Mapping[str, float], opens: bool) -> float:
    words = WORD.findall(sentence.text.lower())
    held = terms(sentence.text)
    central = sum(min(count[term], 12) for term in held if count[term] > 1) / (len(held) + 6)
    mark = central / 4 + 12 * sum(about.get(term, 0) for term in held) / (len(held) + 8)
    mark += 0.6 * math.sqrt(len(held & (terms(sentence.title) | terms(sentence.section))))
    mark += 1.5 * (sentence.section == SUMMARY) + 0.5 * opens
    mark -= 3.0 * bool(sentence.context)  # a row of a table
    mark -= 1.5 * (len(words) not in LENGTH) + 1.0 * (not VERB.search(sentence.text))
    mark -= 1.5 * bool(DANGLING.match(sentence.text)) + 0.5 * bool(TALK.search(sentence.text))
    return mark - 1.5 * sentence.text.endswith(("?", ":"))


def _repeats(at: int, chosen: Sequence[int], sentences: Sequence[Sentence]) -> bool:
    held = terms(sentences[at].text)
    return any(len(held & terms(sentences[other].text)) > 0.6 * len(held) for other in chosen)
