"""Self-information: how much each word of a text tells, and the text without its least informative words.

Selective Context (Li et al., Compressing Context to Enhance Inference Efficiency of Large Language Models, 2023) keeps
the units with the most self-information, -log2 p(word | words before), under a language model. Ours needs no download:
it is adaptive (prequential coding). At first it knows only the common words of English; it learns from the text while
it reads, so repeated words carry little information.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import log2

from corpus.words import STOPWORDS, words

COMMON, VOCABULARY = 0.4, 20_000
"""The prior: two words in five are stop words, all equally likely; the rest are any of this many others."""
PRIOR_COUNTS, SINGLE_COUNTS = 400, 40
"""ν and μ: the prior weighs as much as this many words read, the single word as much as this many pairs read."""
NEGATIONS = frozenset(words("no not nor never none neither nothing nobody cannot without except unless only"))
"""Words that reverse the meaning of a sentence: they stay."""
WHOLE_LINE = re.compile(
    r"\s*[#|]|.*(?:\w(?:Error|Exception)\b|\b(?:Traceback|ERROR|FATAL|FAILED)\b|\b(?:[Ee]rror|fatal|failed)\s*:)"
)
"""Headings, rows of tables, and lines that tell of an error: they stay as they are."""
UNIT = re.compile(r"(?:`[^`]{1,200}`\S*|\"[^\"]{1,200}\"\S*|“[^”]{1,200}”\S*|\S+)\s*")
"""A word or a quotation (at most 200 characters), with its punctuation and the blanks after it."""
NUMBER = re.compile(r"\d[^.,;:]*$")
"""A number; the word after it stays: 15 times, 25 May, 85 % to."""
OPENING = 12
"""The number of first words of a text that stay: usually its title."""
BLANKS = re.compile(r"(?<![^\S\n])[^\S\n]++$", re.MULTILINE)
AROUND = "()[].,;:!?…'’* \t"
"""Characters that may surround a word."""


def self_information(text: Sequence[str]) -> list[float]:
    """The bits of each word given the words before it: -log2 p(word | text so far).

    p = (pairs(before, word) + μ · p1(word)) / (pairs(before, any) + μ): the pair, smoothed by the single word, which is
    p1 = (count(word) + ν · p0(word)) / (words so far + ν), smoothed by the prior p0 (MacKay and Peto, A Hierarchical
    Dirichlet Language Model, 1995).
    """
    seen: dict[str, int] = {}
    pairs: dict[tuple[str, str], int] = {}
    followed: dict[str, int] = {}
    bits, before = [], ""
    for read, word in enumerate(text):
        pair, one, after = pairs.get((before, word), 0), seen.get(word, 0), followed.get(before, 0)
        single = (one + PRIOR_COUNTS * prior(word)) / (read + PRIOR_COUNTS)
        bits.append(-log2((pair + SINGLE_COUNTS * single) / (after + SINGLE_COUNTS)))
        pairs[before, word], seen[word], followed[before] = pair + 1, one + 1, after + 1
        before = word
    return bits


def prior(word: str) -> float:
    """The probability of a word before anything is read."""
    return COMMON / len(STOPWORDS) if word in STOPWORDS else (1 - COMMON) / VOCABULARY


def dropped(text: str, ratio: float) -> list[tuple[int, int]]:
    """Where each unit that goes begins and ends, in their order, so that `ratio` of the words stays.

    Those with the least self-information go. The first words stay; so do headings, table rows, lines with errors, and
    every unit that may not go.
    """
    units, spare = _least_first(text)
    surplus = len(units) - round(ratio * len(units))
    return [units[place] for place in sorted(spare[: max(0, surplus)])]


@lru_cache(maxsize=8)
def _least_first(text: str) -> tuple[list[tuple[int, int]], list[int]]:
    """Where the units of a text begin and end; and the places of those that may go, the least informative first."""
    units, whole, start = [], [], 0
    for line in text.split("\n"):
        found = [(start + one.start(), start + one.end()) for one in UNIT.finditer(line)]
        units += found
        whole += [bool(WHOLE_LINE.match(line))] * len(found)
        start += len(line) + 1
    words = [text[begin:end] for begin, end in units]
    bits = self_information([word.strip(AROUND).casefold() for word in words])
    return units, sorted(_spare(words, whole), key=bits.__getitem__)


def without(text: str, start: int, end: int, gone: Sequence[tuple[int, int]]) -> str:
    """The text between two places without what goes there, and without blanks before the ends of its lines."""
    parts = []
    for begin, after in gone[bisect_left(gone, (start, 0)) : bisect_left(gone, (end, 0))]:
        parts.append(text[start:begin])
        start = min(after, end)
    return BLANKS.sub("", "".join([*parts, text[start:end]]))


def _spare(words: Sequence[str], whole: Sequence[bool]) -> Iterator[int]:
    """The places of the units that may go; `whole`: whether a unit is of a line that stays."""
    before = ""
    for place, word in enumerate(words):
        if place >= OPENING and not whole[place] and may_go(word) and not NUMBER.search(before):
            yield place
        before = word.rstrip()[-20:]


def may_go(unit: str) -> bool:
    """Whether it is a plain word: no number, name, path, identifier, quotation or negation, nothing without case."""
    word = unit.strip(AROUND)
    plain = word.isalpha() and (word.islower() or word.lower() in STOPWORDS)
    return plain and word.lower() not in NEGATIONS
