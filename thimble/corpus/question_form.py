"""The form of a question: whether it depends on the previous one, and which two things it compares."""

from __future__ import annotations

import re

from thimble.corpus.words import STOPWORDS, split_words

POINTING_PRONOUN = re.compile(
    r"\b(?:it|its|they|them|their|he|she|him|her|his|this|these|those|such|others|else|both|former|latter|ones"
    r"|(?:is|was|has|had|does|did|do|can|would|about|of|for|with|after|like|solve|and) that)\b|\b(?:that|one|same)\W*$",
    re.IGNORECASE,
)
"""A pronoun, which may point back."""
HALF_SENTENCE = re.compile(
    r"^\W*(?:ok\W+)?(?:(?:and|but|or|so|then|also)\b|what about|how about|for example|why\W*$)", re.IGNORECASE
)
"""The beginning of half a sentence."""
COMPLETE_QUESTION = re.compile(r"^\W*(?:what(?:['’]?s| is| are)|define|explain)\b(?! the\b)\W+\w", re.IGNORECASE)
"""A question with this is complete, however short: `define attention`."""
FEW_WORDS, HALF = 6, 3
"""Maximum content words of a question that needs the previous one: with a pronoun, or half a sentence."""
_AND = r"\s+(?:and|with|to|from|versus|vs\.?|against)\s+"
COMPARISON = re.compile(
    rf"\bcompare\b(?:.*?\b(?:about|of|between)\b)?\s+(?P<one>[^?]+?){_AND}(?P<other>[^?]+?)\W*$"
    rf"|\bdifferences? between\s+(?P<this>[^?]+?)\s+and\s+(?P<that>[^?]+?)\W*$"
    rf"|\bhow (?:do|does|is|are)\s+(?P<first>[^?]+?)\s+(?:differ(?:ent)?|compare){_AND}(?P<second>[^?]+?)\W*$",
    re.IGNORECASE,
)


def has_pronoun(text: str) -> bool:
    """Whether a question has a pronoun that may point back."""
    return bool(POINTING_PRONOUN.search(text))


def needs_context(text: str) -> bool:
    """Whether a question needs the previous one: half a sentence, or one with a pronoun and no subject."""
    own = {word for word in split_words(text) if word not in STOPWORDS and len(word) > 1}
    if HALF_SENTENCE.search(text):
        return has_pronoun(text) or len(own) <= HALF
    return len(own) <= FEW_WORDS if has_pronoun(text) else len(own) <= 1 and not COMPLETE_QUESTION.search(text)


def find_comparison(text: str) -> tuple[str, str] | None:
    """The two things that a question compares, in its own words; None if it compares nothing."""
    found = COMPARISON.search(text[:500])
    one, other = [" ".join(each.split()) for each in found.groups() if each] if found else ("", "")
    return (one, other) if one and other and one != other else None
