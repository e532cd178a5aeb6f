"""Lines of files: those that hold the words of a query, and the passages nearest to it."""

from __future__ import annotations

import csv
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from agent.errors import ModelError
from agent.protocols import Embedder
from corpus.index import TABLE, Index, insert
from corpus.passages import passages, record
from corpus.ranking import Ranking
from corpus.words import spelled_dates

NEAREST = 8
TABLES = (".csv", ".tsv")
SETTINGS = (".toml", ".ini", ".cfg", ".yaml", ".yml")
PROSE = (".md", ".markdown", ".txt")
ENOUGH = 0.18
"""The score below which nothing in the files is near; lower than for articles, since a line has few words."""


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a file, or a passage that begins there.

    `at` is where in it the phrase stands, in characters, or -1. `score` is how near a passage is, 0 to 1.
    """

    path: str
    number: int
    text: str
    at: int = -1
    score: float = 0.0


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


Texts = tuple[tuple[str, str], ...]
"""Files, each a path with what stands there."""


@lru_cache(maxsize=2)
def indexed(texts: Texts) -> Index:
    """An index of files; the same ones are indexed once in a process.

    A passage of prose is found by its words, its headings and the name of its file; a line of any other file by its
    words, the names of its columns or its section, and the name of its file. 2026-04-02 is also 2 April 2026.
    """
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute(TABLE)
    for number, (path, text) in enumerate(texts):
        name = spelled_dates(re.sub(r"[/_.]", " ", path) + " " + PurePosixPath(path).stem)
        rows = ((spelled_dates(head), 0, line, f"{name}. {head}", said) for head, line, said in _said(path, text))
        insert(connection, number, name, rows)
    return Index(connection, range(len(texts)))


def _said(path: str, text: str) -> Iterator[tuple[str, int, str]]:
    """Heading, line and words of each passage or line of a file."""
    if path.endswith(PROSE):
        yield from ((passage.heading, passage.line, passage.text) for passage in passages(text))
        return
    columns, above = list[str](), ""
    for number, line in enumerate(split(text), 1):
        if path.endswith(TABLES):
            cells = next(csv.reader([line], skipinitialspace=True), [])
            if columns and cells:
                yield "", number, record(columns, cells)
            columns = columns or cells
        elif line.strip():
            if path.endswith(SETTINGS) and re.match(r"\[.+\]|\s*- |\S.*:\s*(?:#.*)?$", line):
                above = line.strip(" -:")
            yield above, number, f"{above} › {line.strip()}" if above and above not in line else line.strip()


def nearest(texts: Texts, query: str, embedder: Embedder | None) -> list[Line]:
    """The passages nearest to a query, the best first; none where nothing is near.

    Words alone count if the server of the embeddings fails.
    """
    index, found = indexed(texts), list[Line]()
    try:
        ranking = Ranking(index, query, embedder=embedder)
    except ModelError:
        ranking = Ranking(index, query)
    for row, score in ranking.best():
        if len(found) == NEAREST:
            break
        place = index.place(row)
        found.append(Line(texts[place.article][0], place.line, place.text, score=score))
    return found if found and found[0].score >= ENOUGH else []
