"""Prose: running text, such as a page of Markdown, without its least informative words."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate, islice

from thimble.corpus.words import STOPWORDS, split_words
from thimble.strategies.compression.self_information import AROUND_A_WORD, self_information
from thimble.strategies.compression.unit import lines_of

PAUSE = r"[.!?][)\]\"'”’*_]*+\s++(?=[^a-z])"
PROSE_SENTENCE = re.compile(rf".(?:[^.!?]++|(?!{PAUSE}).)*+(?:{PAUSE})?+", re.DOTALL)
PROSE_LINE = re.compile(r"[^\n]*+\n++|[^\n]++")
"""A line and the blank lines after it."""
ENDS_SENTENCE = re.compile(r"[.!?][)\]\"'”’*_]*\Z")
SAMPLE_WORDS = 300
"""Words read to decide whether a text is prose."""
STOP_WORDS, SENTENCE_ENDS = 0.2, 1 / 60
"""Shares in prose, at least: of stop words, of which English has twice as many; of words that end a sentence."""
NEGATIONS = frozenset(split_words("no not nor never none neither nothing nobody cannot without except unless only"))
"""Words that reverse the meaning of a sentence: they stay."""
WORD = re.compile(r"\S++\s*+")
ENDS_WITH_NUMBER = re.compile(r"\d[^.,;:]*$")
"""A number; the word after it belongs to it: 15 times, 25 May, 85 % to."""
KEPT_WORD_BITS = 10.0
"""Bits added to a name, a number, and the word after a number."""
NEAR, NEAR_MARK = 0.6, 0.3
"""Share of a word's bits that its neighbour gets; the share across a mark of punctuation."""
SENTENCE_WEIGHT = 2.0
"""Weight of the two most informative words of a sentence in the score of each of its words."""
PUNCTUATION = frozenset(".!?;:,)")


def is_prose(text: str) -> bool:
    """Whether enough of its words make sentences, and most lines are not indented."""
    lines = [line for line in lines_of(text[:20_000]) if line.strip()]
    if 2 * sum(line[0].isspace() for line in lines) > len(lines):
        return False
    read = text[:20_000].split(None, SAMPLE_WORDS)[:SAMPLE_WORDS]
    common = sum(word.strip(AROUND_A_WORD).casefold() in STOPWORDS for word in read)
    ends = sum(bool(ENDS_SENTENCE.search(word)) for word in read)
    return len(read) >= 20 and common >= STOP_WORDS * len(read) and ends >= SENTENCE_ENDS * len(read)


def fewer_words(text: str, most: int) -> str:
    """The most informative words of a text, in at most `most` characters.

    The end of a line stays, unless the whole line goes.
    """
    words, places, sizes = most_telling(text)
    stay, said = set(places[: bisect_right(sizes, most)]), list[str]()
    for place, word in enumerate(words):
        if place in stay:
            said.append(word)
        elif "\n" in word and said and not said[-1].endswith("\n"):
            said[-1] = said[-1].rstrip() + "\n"
    return "".join(said)


@lru_cache(maxsize=8)
def most_telling(text: str) -> tuple[list[str], list[int], list[int]]:
    """The words of a text; their indices by rank; and the running sum of their characters by rank.

    The score of a word is its own bits and those of the words around it, less with each word and each mark in between,
    so that phrases stay together; and those of the two most informative words of its sentence, so that sentences stay
    or go.
    """
    sentences = (sentence for line in PROSE_LINE.findall(text) for sentence in PROSE_SENTENCE.findall(line))
    cut = [WORD.findall(sentence) for sentence in sentences]
    words = [word for of_one in cut for word in of_one]
    bare = [word.strip(AROUND_A_WORD) for word in words]
    bits = self_information([word.casefold() for word in bare])
    plain, after_number = set(filter(may_go, set(bare))), False
    for place, word in enumerate(bare):
        if after_number or word not in plain:
            bits[place] += KEPT_WORD_BITS
        after_number = word not in plain and bool(ENDS_WITH_NUMBER.search(words[place].rstrip()[-20:]))
    near = [NEAR_MARK if word.rstrip()[-1:] in PUNCTUATION else NEAR for word in words]
    before = _carry_bits(bits, near)
    after = _carry_bits(bits[::-1], [*near[-2::-1], 0.0])[::-1]
    left = iter(bits)
    best = list[float]()
    for of_one in cut:
        best += [SENTENCE_WEIGHT * sum(sorted(islice(left, len(of_one)))[-2:])] * len(of_one)
    around = [sum(all_of) for all_of in zip(before, bits, after, best, strict=True)]
    places = sorted(range(len(words)), key=around.__getitem__, reverse=True)
    return words, places, list(accumulate(len(words[place]) for place in places))


def _carry_bits(bits: Sequence[float], near: Sequence[float]) -> list[float]:
    """The bits that each word gets from the words before it; `near`: the share passed from each word to the next."""
    carried, found = 0.0, []
    for one, passes in zip(bits, near, strict=False):
        found.append(carried)
        carried = (carried + one) * passes
    return found


def may_go(unit: str) -> bool:
    """Whether a word is plain: not a number, name, path, identifier, quotation or negation, nor without case."""
    word = unit.strip(AROUND_A_WORD)
    plain = word.isalpha() and (word.islower() or word.lower() in STOPWORDS)
    return plain and word.lower() not in NEGATIONS
