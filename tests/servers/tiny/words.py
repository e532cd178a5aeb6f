"""Made-up words: nobody can know them, so a model that says one has copied it."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Literal
from zlib import crc32

Split = Literal["seen", "new"]
"""Words that the model is trained on, and words that it is never shown."""

ONSETS = (*"bdfghklmnprstvz", "br", "st", "tr")
VOWELS = "aeiou"
CODAS = ("", "", *"lnrs")
SEEN_WORDS = 30_000
NEW_SHARE = 10
"""One word in so many is new."""


def is_new(word: str) -> bool:
    """Whether a word belongs to those that are kept from training: a tenth of all words, by their checksum."""
    return crc32(word.encode()) % NEW_SHARE == 0


def made_up(random: Random) -> str:
    """A word of two or three syllables, 4 to 10 letters."""
    while True:
        syllables = (
            random.choice(ONSETS) + random.choice(VOWELS) + random.choice(CODAS)
            for _ in range(random.choice((2, 2, 3)))
        )
        word = "".join(syllables)
        if 4 <= len(word) <= 10:
            return word


@cache
def seen() -> tuple[str, ...]:
    """Every made-up word of the training data."""
    random, words = Random(0), dict[str, None]()
    while len(words) < SEEN_WORDS:
        word = made_up(random)
        if not is_new(word):
            words[word] = None
    return tuple(words)


def draw(random: Random, split: Split, number: int) -> list[str]:
    """So many different words of a split."""
    words = dict[str, None]()
    while len(words) < number:
        word = random.choice(seen()) if split == "seen" else made_up(random)
        if split == "seen" or is_new(word):
            words[word] = None
    return list(words)
