"""Lines of files: those that hold the words of a query, and the passages nearest to it."""

from __future__ import annotations

import csv
import re
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath

from thimble.agent.errors import ModelError
from thimble.agent.protocols import Embedder
from thimble.corpus.index import TABLE, Index, insert_passages
from thimble.corpus.passages import MAX_COLUMN_NAME, SENTENCE_CHARACTERS, format_row, is_prose, split_passages
from thimble.corpus.ranking import Ranking
from thimble.corpus.words import TERMINAL_STYLE, spelled_dates

MAX_NEAR_LINES = 8
LINE_WORDS = 64
"""The most different words that a line is searched for."""
COMPARED, COMPARED_CHARACTERS = 20_000, 1_000_000
"""The most passages that a query is compared with, and the most characters of files that they are made from."""
TABLE_FILES = (".csv", ".tsv")
SETTINGS_FILES = (".toml", ".ini", ".cfg", ".yaml", ".yml")
MIN_NEAR_SCORE = 0.18
"""The least score of a near passage; lower than for articles, since a line has few words."""


@dataclass(frozen=True, slots=True)
class FileLine:
    """A line of a file, or a passage that starts there.

    `at` is the offset of the phrase in it, in characters, or -1. `score` is how near a passage is, 0 to 1.
    """

    path: str
    number: int
    text: str
    at: int = -1
    score: float = 0.0


def find_lines(texts: Iterable[tuple[str, str]], phrase: str, most: int) -> tuple[list[FileLine], int]:
    """The lines that contain a phrase, else those that contain all of its words, ignoring case.

    Returns the first `most` of them, and their number. Only the first `LINE_WORDS` different words count.
    """
    phrase, words = phrase.casefold(), distinct_words(phrase)[:LINE_WORDS]
    first: dict[bool, list[FileLine]] = {True: [], False: []}
    many = Counter[bool]()
    for path, text in texts:
        folded = text.casefold()
        if not all(word in folded for word in words):
            continue
        for number, (line, low) in enumerate(zip(split_lines(text), split_lines(folded), strict=True), 1):
            if all(word in low for word in words):
                at = low.find(phrase)
                many[at >= 0] += 1
                if many[at >= 0] <= most:
                    first[at >= 0].append(FileLine(path, number, line, at))
    whole = many[True] > 0
    return first[whole], many[whole]


def split_lines(text: str) -> list[str]:
    """The lines of a text, without an empty one for a newline at its end."""
    return text.removesuffix("\n").split("\n") if text else []


def distinct_words(query: str) -> list[str]:
    """The words of a query in lower case, each once."""
    return list(dict.fromkeys(query.casefold().split()))


Texts = tuple[tuple[str, str], ...]
"""Files, each a path and its text."""


@lru_cache(maxsize=2)
def index_texts(texts: Texts) -> Index:
    """An index of files; the same files are indexed once in a process.

    A passage of prose is found by its words, its headings and the name of its file; a line of any other file by its
    words, the names of its columns or its section, and the name of its file. 2026-04-02 is also found as 2
    April 2026. It has at most `COMPARED` passages.
    """
    room = iter(range(COMPARED))
    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute(TABLE)
    for number, (path, text) in enumerate(texts):
        name = spelled_dates(re.sub(r"[/_.]", " ", path) + " " + PurePosixPath(path).stem)
        every = (row for row, _ in zip(_iter_passages(path, text), room, strict=False))
        rows = ((spelled_dates(head), 0, line, f"{name}. {head}", said) for head, line, said in every)
        insert_passages(connection, number, name, rows)
    return Index(connection, range(len(texts)))


def _iter_passages(path: str, text: str) -> Iterator[tuple[str, int, str]]:
    """Heading, line and words of each passage or line of a file."""
    text = TERMINAL_STYLE.sub("", text)
    if is_prose(path, text):
        yield from ((passage.heading, passage.line, passage.text) for passage in split_passages(text))
        return
    columns, above = list[str](), ""
    for number, line in enumerate(split_lines(text), 1):
        if path.endswith(TABLE_FILES):
            cells = _cells(line)
            if columns and cells:
                yield "", number, format_row(columns, cells)
            columns = columns or [cell[:MAX_COLUMN_NAME] for cell in cells]
        elif line.strip():
            if path.endswith(SETTINGS_FILES) and re.match(r"\[.+\]|\s*- |\S.*:\s*(?:#.*)?$", line):
                above = line.strip(" -:")[:MAX_COLUMN_NAME]
            said = f"{above} › {line.strip()}" if above and above not in line else line.strip()
            yield from (
                (above, number, said[at : at + SENTENCE_CHARACTERS]) for at in range(0, len(said), SENTENCE_CHARACTERS)
            )


def _cells(line: str) -> list[str]:
    """The cells of a row; one that csv cannot read is a single cell."""
    try:
        return next(csv.reader([line], skipinitialspace=True), [])
    except csv.Error:
        return [line]


def find_passages(texts: Texts, query: str, embedder: Embedder | None) -> tuple[list[FileLine], bool]:
    """The passages nearest to a query, the best first, none if nothing is near; and whether all were compared.

    Words alone count if the server of the embeddings fails. At most `COMPARED` passages are compared, of the first
    `COMPARED_CHARACTERS` of the files.
    """
    first = tuple(_first_characters(texts))
    index, found = index_texts(first), list[FileLine]()
    every = first == texts and len(index.rows) < COMPARED
    try:
        ranking = Ranking(index, query, embedder=embedder)
    except ModelError:
        ranking = Ranking(index, query)
    for row, score in ranking.best():
        if len(found) == MAX_NEAR_LINES:
            break
        place = index.place(row)
        found.append(FileLine(texts[place.article][0], place.line, place.text, score=score))
    return (found if found and found[0].score >= MIN_NEAR_SCORE else []), every


def _first_characters(texts: Texts) -> Iterator[tuple[str, str]]:
    """The first `COMPARED_CHARACTERS` of the files; the last one may be cut."""
    room = COMPARED_CHARACTERS
    for path, text in texts:
        if room > 0:
            yield path, text[:room]
        room -= len(text)
