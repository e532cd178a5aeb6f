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
SETTINGS = (".toml", ".ini", ".cfg", ".yaml", ".yml")
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

    The name of the file and the heading above a line count as well, at a discount (in a table the names of its
    columns, in settings the section, which is shown), and dates such as 2026-04-02 are also read as 2 April 2026.
    What comes to less than half of the best is left out.
    """
    wanted = {stem(word) for word in content_words(spelled_dates(query))}
    likely = re.compile("|".join([ISO_DATE.pattern, *(re.escape(word.removesuffix("y")) for word in wanted)]))
    found: list[tuple[Line, set[str], set[str]]] = []
    often: Counter[str] = Counter()
    for path, text in texts:
        of_path = stems(spelled_dates(re.sub(r"[/_.]", " ", path)))
        named = {word for word in wanted if any(_same(word, other) for other in of_path)}
        heading, above = set[str](), ""
        for number, line in enumerate(split(text), 1):
            held = stems(spelled_dates(line)) & wanted if likely.search(line.casefold()) else set()
            often.update(held)
            if _is_heading(path, number, line):
                heading, above = held, line.strip(" -:") if path.endswith(SETTINGS) else ""
            elif held:
                shown = f"{above} › {line.strip()}" if above else line
                found.append((Line(path, number, shown), held, (heading | named) - held))
    weight = {word: math.log(1 + len(found) / (1 + often[word])) for word in wanted}
    marks = [sum(weight[w] for w in held) + BESIDE * sum(weight[w] for w in beside) for _, held, beside in found]
    best = heapq.nlargest(NEAREST, range(len(found)), key=lambda at: (marks[at], -at))
    return [found[at][0] for at in best if marks[at] >= marks[best[0]] / 2]


def _is_heading(path: str, number: int, line: str) -> bool:
    """Whether the lines below stand under this one: a heading, the columns of a table, a section of settings."""
    if path.endswith(TABLES):
        return number == 1
    if path.endswith(SETTINGS):
        return bool(re.match(r"\[.+\]|\s*- |\S.*:\s*(?:#.*)?$", line))
    return path.endswith(".md") and line.startswith("#")


def _same(word: str, other: str) -> bool:
    """Whether two words are one, or the longer begins with the shorter: config and configuration."""
    short, long = sorted((word, other), key=len)
    return word == other or (len(short) > 3 and short.isalpha() and long.startswith(short))
