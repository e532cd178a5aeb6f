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
from itertools import accumulate, groupby
from math import log2
from operator import itemgetter

from corpus.words import STOPWORDS, words

COMMON, VOCABULARY = 0.4, 20_000
"""The prior: two words in five are stop words, all equally likely; the rest are any of this many others."""
PRIOR_COUNTS, SINGLE_COUNTS = 400, 40
"""ν and μ: the prior weighs as much as this many words read, the single word as much as this many pairs read."""
NEGATIONS = frozenset(words("no not nor never none neither nothing nobody cannot without except unless only"))
"""Words that reverse the meaning of a sentence: they stay."""
ERROR = re.compile(r"\w(?:Error|Exception)\b|\b(?:Traceback|ERROR|FATAL|FAILED)\b|\b(?:[Ee]rror|fatal|failed)\s*:")
"""A word with which a line tells of an error."""
UNIT = re.compile(r"(?:[^\s`\"“]\S*+|`[^`]{1,200}`\S*|\"[^\"]{1,200}\"\S*|“[^”]{1,200}”\S*|\S+)\s*+")
"""A word or a quotation (at most 200 characters), with its punctuation and the blanks after it."""
NUMBER = re.compile(r"\d[^.,;:]*$")
"""A number; the word after it belongs to it: 15 times, 25 May, 85 % to."""
OPENING = 12
"""The number of first words of a text that make its title, usually."""
STAYS = 10.0
"""Bits added to a name, a number, a word of the title, of a heading or of an error."""
NEAR, NEAR_MARK = 0.6, 0.3
"""Share of what a word tells that its neighbour tells too; the share across a mark of punctuation."""
SENTENCE = 2.0
"""How often the two most telling words of its sentence count for a word."""
MARKS = frozenset(".!?;:,)")
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


def fewer_words(texts: Sequence[str], share: float) -> list[str]:
    """Texts that follow each other, in about this share of their characters: the words that tell most.

    The end of a line stays, unless all of the line goes.
    """
    words, places, sizes = most_telling(tuple(texts))
    said = [""] * len(texts)
    stay = sorted(places[: bisect_right(sizes, share * sizes[-1])]) if sizes else []
    for number, one in groupby((words[place] for place in stay), itemgetter(0)):
        said[number] = "".join(word for _, word in one)
    begun = False
    for number, text in enumerate(texts):
        end = text[len(text.rstrip()) :]
        if "\n" in end and (begun or said[number]):
            said[number] = said[number].rstrip() + end
        begun = (begun or bool(said[number])) and not said[number].endswith("\n")
    return said


@lru_cache(maxsize=8)
def most_telling(texts: tuple[str, ...]) -> tuple[list[tuple[int, str]], list[int], list[int]]:
    """The words of texts that follow each other, each with the number of its text; their places, ranked; their lengths.

    These are summed: the characters of the first word by rank, of the first two, and so on.

    A word tells its own bits and, less with each word between and with each mark, those of the words around it: so
    phrases stay together. It also tells what the two most telling words of its text do: so sentences stay, or go.
    """
    words = [(number, word) for number, text in enumerate(texts) for word in UNIT.findall(text)]
    bare = [word.strip(AROUND) for _, word in words]
    bits = self_information([word.casefold() for word in bare])
    plain = set(filter(may_go, set(bare)))
    whole = [stays_whole(text) for text in texts]
    after_number = False
    for place, ((number, unit), word) in enumerate(zip(words, bare, strict=True)):
        goes = word in plain
        if after_number or not goes or whole[number] or place < OPENING:
            bits[place] += STAYS
        after_number = not goes and bool(NUMBER.search(unit.rstrip()[-20:]))
    near = [NEAR_MARK if unit.rstrip()[-1:] in MARKS else NEAR for _, unit in words]
    before = _carried(bits, near)
    after = _carried(bits[::-1], [*near[-2::-1], 0.0])[::-1]
    best = [SENTENCE * sum(sorted(of_one)[-2:]) for of_one in _by_text(words, bits, len(texts))]
    around = [
        left + own + right + best[number]
        for left, own, right, (number, _) in zip(before, bits, after, words, strict=True)
    ]
    places = sorted(range(len(words)), key=around.__getitem__, reverse=True)
    return words, places, list(accumulate(len(words[place][1]) for place in places))


def _by_text(words: Sequence[tuple[int, str]], bits: Sequence[float], texts: int) -> list[list[float]]:
    """The bits of the words of each text."""
    found: list[list[float]] = [[] for _ in range(texts)]
    for (number, _), one in zip(words, bits, strict=True):
        found[number].append(one)
    return found


def _carried(bits: Sequence[float], near: Sequence[float]) -> list[float]:
    """What the words before each one tell; `near`: the share that passes from each word to the next one."""
    carried, found = 0.0, []
    for one, passes in zip(bits, near, strict=False):
        found.append(carried)
        carried = (carried + one) * passes
    return found


def stays_whole(line: str) -> bool:
    """Whether it is a heading or a row of a table, or tells of an error: it stays as it is."""
    return line.lstrip().startswith(("#", "|")) or bool(ERROR.search(line))


def may_go(unit: str) -> bool:
    """Whether it is a plain word: no number, name, path, identifier, quotation or negation, nothing without case."""
    word = unit.strip(AROUND)
    plain = word.isalpha() and (word.islower() or word.lower() in STOPWORDS)
    return plain and word.lower() not in NEGATIONS
