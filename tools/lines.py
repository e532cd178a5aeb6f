"""Lines of files, found by words: those that hold a phrase, those that hold every word, and the nearest to it."""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from corpus.words import ISO_DATE, content_words, spelled_dates, stem, stems

NEAREST = 20
TABLES = (".csv", ".tsv")
BESIDE = 0.5
"""Credit for a word that stands not in the line but in the file's name or the heading above."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file; `at` is where in it the phrase stands, in characters, or -1."""

    path: str
    number: int
    text: str
    at: int = -1


def split(text: str) -> list[str]:
    """The lines of a text, without an empty one for a newline at its end."""
    return text.removesuffix("\n").split("\n") if text else []


def with_words(path: str, text: str, query: str) -> Iterator[Line]:
    """The lines that hold every word of the query, in any case."""
    phrase, words = query.strip().casefold(), query.casefold().split()
    folded = text.casefold()
    if all(word in folded for word in words):
        for number, line in enumerate(split(text), 1):
            folded = line.casefold()
            if all(word in folded for word in words):
                yield Line(path, number, line, folded.find(phrase))


def nearest(texts: Sequence[tuple[str, str]], query: str) -> list[Line]:
    """The lines with the most words of the query, rare words first; `texts` are paths with what stands there.

    The name of the file and the heading above a line, in a table the names of its columns, count as well, at a
    discount, and dates such as 2026-04-02 are also read as 2 April 2026. What comes to less than half of the best is
    left out.
    """
    wanted = {stem(word) for word in content_words(spelled_dates(query))}
    likely = re.compile("|".join([ISO_DATE.pattern, *(re.escape(word.removesuffix("y")) for word in wanted)]))
    found: list[tuple[Line, set[str], set[str]]] = []
    often: Counter[str] = Counter()
    for path, text in texts:
        named = stems(spelled_dates(re.sub(r"[/_.]", " ", path))) & wanted
        heading: set[str] = set()
        for number, line in enumerate(split(text), 1):
            held = stems(spelled_dates(line)) & wanted if likely.search(line.casefold()) else set()
            often.update(held)
            if (path.endswith(".md") and line.startswith("#")) or (path.endswith(TABLES) and number == 1):
                heading = held
            elif held:
                found.append((Line(path, number, line), held, (heading | named) - held))
    weight = {word: math.log(1 + len(found) / (1 + often[word])) for word in wanted}
    marks = [sum(weight[w] for w in held) + BESIDE * sum(weight[w] for w in beside) for _, held, beside in found]
    best = heapq.nlargest(NEAREST, range(len(found)), key=lambda at: (marks[at], -at))
    return [found[at][0] for at in best if marks[at] >= marks[best[0]] / 2]
