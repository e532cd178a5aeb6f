"""Self-information: the bits of information in each word of a text.

Selective Context (Li et al., Compressing Context to Enhance Inference Efficiency of Large Language Models, 2023) keeps
the units with the most self-information, -log2 p(word | words before), under a language model. Ours needs no download:
it is adaptive (prequential coding). At first it knows only the common words of English; it learns from the text while
it reads, so repeated words carry little information.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2

from thimble.corpus.words import STOPWORDS

COMMON, VOCABULARY = 0.4, 20_000
"""The prior: two words in five are stop words, all equally likely; the rest are any of this many others."""
PRIOR_COUNTS, SINGLE_COUNTS = 400, 40
"""ν and μ: the prior weighs as much as this many words read, the single word as much as this many pairs read."""
AROUND_A_WORD = "()[].,;:!?…'’* \t"
"""Characters that may surround a word."""


def self_information(text: Sequence[str]) -> list[float]:
    """The bits of each word given the words before it: -log2 p(word | text so far).

    p = (pairs(before, word) + μ · p1(word)) / (pairs(before, any) + μ): the pair, smoothed by the single word, which is
    p1 = (count(word) + ν · p0(word)) / (words so far + ν), smoothed by the prior p0 (MacKay and Peto, A Hierarchical
    Dirichlet Language Model, 1995).
    """
    seen = {word: PRIOR_COUNTS * prior_probability(word) for word in set(text)}
    followed = dict.fromkeys(("", *seen), SINGLE_COUNTS)
    pairs: dict[tuple[str, str], int] = {}
    bits, before = [], ""
    for read, word in enumerate(text, PRIOR_COUNTS):
        both = before, word
        pair, one, after = pairs.get(both, 0), seen[word], followed[before]
        bits.append(log2(after / (pair + SINGLE_COUNTS * one / read)))
        pairs[both], seen[word], followed[before] = pair + 1, one + 1, after + 1
        before = word
    return bits


def prior_probability(word: str) -> float:
    """The probability of a word before anything is read."""
    return COMMON / len(STOPWORDS) if word in STOPWORDS else (1 - COMMON) / VOCABULARY
