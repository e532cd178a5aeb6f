"""Whether a question leans on the one before it, by its form: half a sentence, or a pronoun and few words."""

from __future__ import annotations

import re

from thimble.corpus.words import STOPWORDS, words

POINTS = re.compile(
    r"\b(?:it|its|they|them|their|he|she|him|her|his|this|these|those|such|others?|else|both|former|latter|ones)\b",
    re.IGNORECASE,
)
"""A pronoun, which may point back."""
THAT = re.compile(
    r"\b(?:is|was|has|had|does|did|do|can|would|about|of|for|with|after|like|solve|and) that\b|\b(?:that|one|same)\W*$",
    re.IGNORECASE,
)
BEGINS = re.compile(
    r"^\W*(?:ok\W+)?(?:(?:and|but|or|so|then|also)\b|what about|how about|for example|why\W*$)", re.IGNORECASE
)
"""How half a sentence begins."""
WHOLE = re.compile(r"^\W*(?:what(?:['’]?s| is| are)|define|explain)\b(?! the\b)\W+\w", re.IGNORECASE)
"""A question with this needs no other, however short it is: what is attention?"""
HOW = re.compile(r"\bhow \w+", re.IGNORECASE)
FEW, HALF = 6, 3
"""The most words of its own that a question with a pronoun has, and half a sentence, if it leans."""


def points(text: str) -> bool:
    """Whether a question has a pronoun that may point back."""
    return bool(POINTS.search(text) or THAT.search(text))


def leans(text: str) -> bool:
    """Whether a question needs the one before: it does not name its subject."""
    own = {word for word in words(HOW.sub("how", text)) if word not in STOPWORDS and len(word) > 1}
    if BEGINS.search(text):
        return points(text) or len(own) <= HALF
    return len(own) <= FEW if points(text) else len(own) <= 1 and not WHOLE.search(text)
