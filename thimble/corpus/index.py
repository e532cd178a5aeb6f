"""The index: the passages of articles or files in an SQLite database, searched with FTS5."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from thimble.agent.errors import UsageError
from thimble.corpus.article import OPENING_TITLE, Article
from thimble.corpus.passages import split_passages
from thimble.corpus.words import content_terms

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from thimble.agent.protocols import Embedder

TABLE = """CREATE VIRTUAL TABLE passages USING fts5(
    title, heading, text, section UNINDEXED, line UNINDEXED, above UNINDEXED, said UNINDEXED,
    tokenize='unicode61 remove_diacritics 0')"""
ARTICLE_ROWS = 1 << 20
"""Row numbers for each article: more than the passages of any file."""
MAX_MISSPELT_LETTERS = 40
"""Maximum letters of a word that may be a misspelling."""
COMPARED_TERMS = 5_000
"""Maximum number of known words that it is compared with."""
MIN_SIMILARITY = 0.8
"""Minimum similarity of an unknown word to the known word that it misspells: a ratio of difflib."""


class PassagePlace(NamedTuple):
    """A passage and its place: the article in the library, the section in the article, the line in the section."""

    article: int
    section: int
    line: int
    text: str


class Index:
    """Finds passages. Threads may share it.

    Args:
        connection: A database with the table; closed when the index is not used any more.
        places: The place of an article in its library, by the number under which it was added.
        file: The file of the database; None if it is in memory.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        places: Mapping[int, int] | Sequence[int],
        file: Path | None = None,
    ) -> None:
        self._connection = connection
        self._places = places
        self._file = file
        self._lock = threading.Lock()
        self._vectors: dict[str, NDArray[np.float32]] = {}
        connection.execute("CREATE VIRTUAL TABLE temp.vocabulary USING fts5vocab(main, passages, row)")
        self._nearest: dict[str, str] = {}
        weakref.finalize(self, connection.close)

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        """The number of every passage, in the order of the library: a changed article keeps its place in it."""
        import numpy as np

        every = np.array([row for (row,) in self.ask("SELECT rowid FROM passages ORDER BY rowid")], np.int64)
        return every[np.argsort([self._places[row // ARTICLE_ROWS] for row in every.tolist()], kind="stable")]

    @cached_property
    def _by_number(self) -> NDArray[np.int64]:
        """The places in `rows`, in the order of the numbers there."""
        import numpy as np

        return np.argsort(self.rows)

    @cached_property
    def articles(self) -> NDArray[np.int64]:
        """The place in the library of the article of every passage, in the order of `rows`."""
        import numpy as np

        numbers, at = np.unique(self.rows // ARTICLE_ROWS, return_inverse=True)
        return np.array([self._places[int(number)] for number in numbers], np.int64)[at]

    @cached_property
    def sections(self) -> NDArray[np.int64]:
        """A unique number for the section of every passage, in the order of `rows`."""
        import numpy as np

        within = dict(self.ask("SELECT rowid, section FROM passages"))
        return np.array([row // ARTICLE_ROWS * ARTICLE_ROWS + within[row] for row in self.rows.tolist()], np.int64)

    def bm25(self, term: str) -> NDArray[np.float32]:
        """The BM25 of each passage for one term, in the order of `rows`; 0 if the term does not occur."""
        import numpy as np

        found = np.zeros(len(self.rows), np.float32)
        hits = self.ask(
            "SELECT rowid, -bm25(passages, 2.0, 2.0, 1.0) FROM passages WHERE passages MATCH ?", f'"{term}"'
        )
        if hits:
            rows, scores = zip(*hits, strict=True)
            found[self._by_number[np.searchsorted(self.rows, rows, sorter=self._by_number)]] = scores
        return found

    def entries(self, terms: Iterable[str]) -> NDArray[np.bool_]:
        """Which passages, in the order of `rows`, are the entry of a term: heading ends and text starts with it."""
        import numpy as np

        term = " ".join(terms)
        sql = (
            "SELECT rowid FROM passages WHERE passages MATCH ? "
            "AND (' ' || heading) LIKE '% ' || ? AND (text || ' ') LIKE ? || ' %'"
        )
        phrase = f'heading : "{term}" AND text : ^ "{term}"'
        return np.isin(self.rows, [row for (row,) in self.ask(sql, phrase, term, term)] if term else [])

    def count_passages(self, term: str) -> int:
        """The number of passages in which a term occurs."""
        return int(next(iter(self.ask("SELECT doc FROM vocabulary WHERE term = ?", term)), (0,))[0])

    def correct_spelling(self, term: str) -> str:
        """The term if it occurs, else the known term that it may misspell, else the term."""
        if term not in self._nearest:
            self._nearest[term] = self._find_similar(term)
        return self._nearest[term]

    def _find_similar(self, term: str) -> str:
        from difflib import get_close_matches

        if (
            self.count_passages(term)
            or not 4 <= len(term) <= MAX_MISSPELT_LETTERS
            or any(letter.isdigit() for letter in term)
        ):
            return term
        sql = "SELECT term FROM vocabulary WHERE term BETWEEN ? AND ? AND length(term) BETWEEN ? AND ? LIMIT ?"
        known = self.ask(sql, term[0], term[0] + "\U0010ffff", len(term) - 2, len(term) + 2, COMPARED_TERMS)
        return next(iter(get_close_matches(term, [word for (word,) in known], 1, MIN_SIMILARITY)), term)

    def vectors(self, embedder: Embedder) -> NDArray[np.float32]:
        """The vector of each passage, with the titles above it, in the order of `rows`; made once."""
        with self._lock:
            found = self._vectors.get(embedder.name)
        if found is None:
            said = dict(self.ask("SELECT rowid, above || ' ' || said FROM passages"))
            found = self._vectors[embedder.name] = embedder.embed([said[row] for row in self.rows.tolist()])
        return found

    def place(self, row: int) -> PassagePlace:
        """The place of a passage, and its text."""
        ((section, line, text),) = self.ask("SELECT section, line, said FROM passages WHERE rowid = ?", row)
        return PassagePlace(self._places[row // ARTICLE_ROWS], section, line, text)

    def terms(self, row: int) -> set[str]:
        """The terms of a passage and of the titles above it."""
        ((all_of_it,),) = self.ask("SELECT title || ' ' || heading || ' ' || text FROM passages WHERE rowid = ?", row)
        return set(all_of_it.split())

    def ask(self, sql: str, *values: object) -> list[Any]:
        """The rows that a statement selects. Raises UsageError if the file of the database is damaged."""
        import sqlite3

        with self._lock:
            try:
                return self._connection.execute(sql, values).fetchall()
            except sqlite3.DatabaseError as error:
                if not self._file:
                    raise
                with suppress(OSError):
                    self._file.unlink()
                what = "the cache of the articles is damaged"
                raise UsageError(what, "leave and start again: the articles are read again") from error


@lru_cache(maxsize=4)
def index_of(articles: tuple[Article, ...]) -> Index:
    """An index of these articles, in memory; the same articles are indexed once in a process."""
    import sqlite3

    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute(TABLE)
    for number, article in enumerate(articles):
        add_article(connection, number, article)
    return Index(connection, range(len(articles)))


def add_article(connection: sqlite3.Connection, number: int, article: Article) -> None:
    """Add the passages of an article under a new number."""
    insert_passages(connection, number, article.title, _rows(article))


def _rows(article: Article) -> Iterable[tuple[str, int, int, str, str]]:
    for place, section in enumerate(article.sections):
        title = "" if section.title == OPENING_TITLE else section.title
        for passage in split_passages(section.text):
            heading = f"{title} {passage.heading}".strip()
            yield heading, place, passage.line, f"{article.title}. {heading}", passage.text


def insert_passages(
    connection: sqlite3.Connection, number: int, title: str, rows: Iterable[tuple[str, int, int, str, str]]
) -> None:
    """Add passages under a number: for each its heading, section, line, the titles above it, and its text."""
    sql = (
        "INSERT INTO passages(rowid, title, heading, text, section, line, above, said) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    )
    folded = _fold_text(title)
    connection.executemany(
        sql,
        (
            (number * ARTICLE_ROWS + row, folded, _fold_text(heading), _fold_text(said), section, line, above, said)
            for row, (heading, section, line, above, said) in enumerate(rows)
        ),
    )


def remove_passages(connection: sqlite3.Connection, number: int) -> None:
    """Remove the passages that were added under a number."""
    first = number * ARTICLE_ROWS
    connection.execute("DELETE FROM passages WHERE rowid BETWEEN ? AND ?", (first, first + ARTICLE_ROWS - 1))


def _fold_text(text: str) -> str:
    return " ".join(content_terms(text))
