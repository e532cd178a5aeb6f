"""Whether a question leans on the one before it, by its form."""

from __future__ import annotations

import re

from corpus.words import terms

LEANS = re.compile(
    r"\b(?:it|its|they|them|their|this|that|these|those|there|he|she|him|her|his|such|same|other|others|else|instead|"
    r"both|former|latter|one|ones)\b"
    r"|^\W*(?:and|but|or|so|why|how come|what about|how about|also|then|example|for example)\b",
    re.IGNORECASE,
)
"""A question with this may lean on the one before."""
WHOLE = re.compile(r"^\W*(?:what(?:['’]s| is| are)|define|explain)\b(?! the\b)\W+\w", re.IGNORECASE)
"""A question with this needs no other, however short it is: what is attention?"""


def leans(text: str) -> bool:
    """Whether a question may need the one before: a word that points back, or next to no word of its own."""
    return bool(LEANS.search(text)) or (len(set(terms(text))) <= 1 and not WHOLE.search(text))
