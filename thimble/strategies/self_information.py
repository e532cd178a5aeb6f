"""Self-information: how much each word of a text tells, and the text without its least informative words.

Selective Context (Li et al., Compressing Context to Enhance Inference Efficiency of Large Language Models, 2023) keeps
the units with the most self-information, -log2 p(word | words before), under a language model. Ours needs no download:
it is adaptive (prequential coding). At first it knows only the common words of English; it learns from the text while
it reads, so repeated words carry little information.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, islice
from math import log2

from thimble.corpus.words import STOPWORDS, words

COMMON, VOCABULARY = 0.4, 20_000
"""The prior: two words in five are stop words, all equally likely; the rest are any of this many others."""
PRIOR_COUNTS, SINGLE_COUNTS = 400, 40
"""ν and μ: the prior weighs as much as this many words read, the single word as much as this many pairs read."""
NEGATIONS = frozenset(words("no not nor never none neither nothing nobody cannot without except unless only"))
"""Words that reverse the meaning of a sentence: they stay."""
UNIT = re.compile(r"(?:[^\s`\"“]\S*+|`[^`]{1,200}`\S*|\"[^\"]{1,200}\"\S*|“[^”]{1,200}”\S*|\S+)\s*+")
"""A word or a quotation (at most 200 characters), with its punctuation and the blanks after it."""
ENDS_WITH_NUMBER = re.compile(r"\d[^.,;:]*$")
"""A number; the word after it belongs to it: 15 times, 25 May, 85 % to."""
STAYS = 10.0
"""Bits added to a name, a number, and the word after a number."""
NEAR, NEAR_MARK = 0.6, 0.3
"""Share of what a word tells that its neighbour tells too; the share across a mark of punctuation."""
SENTENCE_WEIGHT = 2.0
"""How often the two most telling words of its sentence count for a word."""
PUNCTUATION = frozenset(".!?;:,)")
AROUND = "()[].,;:!?…'’* \t"
"""Characters that may surround a word."""


def self_information(text: Sequence[str]) -> list[float]:
    """The bits of each word given the words before it: -log2 p(word | text so far).

    p = (pairs(before, word) + μ · p1(word)) / (pairs(before, any) + μ): the pair, smoothed by the single word, which is
    p1 = (count(word) + ν · p0(word)) / (words so far + ν), smoothed by the prior p0 (MacKay and Peto, A Hierarchical
    Dirichlet Language Model, 1995).
    """
    seen = {word: PRIOR_COUNTS * prior(word) for word in set(text)}
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


def prior(word: str) -> float:
    """The probability of a word before anything is read."""
    return COMMON / len(STOPWORDS) if word in STOPWORDS else (1 - COMMON) / VOCABULARY


def fewer_words(sentences: Sequence[str], most: int) -> str:
    """Sentences that follow each other, in at most so many characters: the words that tell most.

    The end of a line stays, unless all of the line goes.
    """
    words, places, sizes = most_telling(tuple(sentences))
    stay, said = set(places[: bisect_right(sizes, most)]), list[str]()
    for place, word in enumerate(words):
        if place in stay:
            said.append(word)
        elif "\n" in word and said and not said[-1].endswith("\n"):
            said[-1] = said[-1].rstrip() + "\n"
    return "".join(said)


@lru_cache(maxsize=8)
def most_telling(sentences: tuple[str, ...]) -> tuple[list[str], list[int], list[int]]:
    """The words of sentences that follow each other; their places, ranked; and their lengths.

    These are summed: the characters of the first word by rank, of the first two, and so on.

    A word tells its own bits and, less with each word between and with each mark, those of the words around it: so
    phrases stay together. It also tells what the two most telling words of its sentence do: so sentences stay, or go.
    """
    cut = [UNIT.findall(sentence) for sentence in sentences]
    words = [word for of_one in cut for word in of_one]
    bare = [word.strip(AROUND) for word in words]
    bits = self_information([word.casefold() for word in bare])
    plain, after_number = set(filter(may_go, set(bare))), False
    for place, word in enumerate(bare):
        if after_number or word not in plain:
            bits[place] += STAYS
        after_number = word not in plain and bool(ENDS_WITH_NUMBER.search(words[place].rstrip()[-20:]))
    near = [NEAR_MARK if word.rstrip()[-1:] in PUNCTUATION else NEAR for word in words]
    before = _carried(bits, near)
    after = _carried(bits[::-1], [*near[-2::-1], 0.0])[::-1]
    left = iter(bits)
    best = list[float]()
    for of_one in cut:
        best += [SENTENCE_WEIGHT * sum(sorted(islice(left, len(of_one)))[-2:])] * len(of_one)
    around = [sum(all_of) for all_of in zip(before, bits, after, best, strict=True)]
    places = sorted(range(len(words)), key=around.__getitem__, reverse=True)
    return words, places, list(accumulate(len(words[place]) for place in places))


def _carried(bits: Sequence[float], near: Sequence[float]) -> list[float]:
    """What the words before each one tell; `near`: the share that passes from each word to the next one."""
    carried, found = 0.0, []
    for one, passes in zip(bits, near, strict=False):
        found.append(carried)
        carried = (carried + one) * passes
    return found


def may_go(unit: str) -> bool:
    """Whether it is a plain word: no number, name, path, identifier, quotation or negation, nothing without case."""
    word = unit.strip(AROUND)
    plain = word.isalpha() and (word.islower() or word.lower() in STOPWORDS)
    return plain and word.lower() not in NEGATIONS
