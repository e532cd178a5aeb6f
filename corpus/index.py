"""The index: the sections of articles in an SQLite database, where FTS5 finds and scores them."""

from __future__ import annotations

import re
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from agent.errors import UsageError
from corpus.article import Article, Section
from corpus.markdown import plain

if TYPE_CHECKING:
    import sqlite3

TABLE = """CREATE VIRTUAL TABLE sections USING
    fts5(title, heading, text, section UNINDEXED, tokenize='porter unicode61')"""
WEIGHTS = (4.0, 3.0, 1.0)  # of the article's title and tags, the section's title, its text
PASSAGE = 10_000
ROWS = 1 << 20
"""So many rows belong to one article, more than passages fit into a file."""
START, END = "\x02", "\x03"  # stand around a matched word; removed from the text before it is indexed
# A writing without spaces is searched by character, since the tokenizer would take a whole clause for one word.
UNSPACED = re.compile(r"([\u3040-\u30ff\u3400-\u9fff])")


class Index:
    """Finds rows: passages of sections. Threads may share it.

    Args:
        connection: A database with the table; closed when the index is not used any more.
        places: Where an article stands in its library, by the number under which it was added.
        forget: Deletes the file that it is kept in, which may be damaged; None where it is in memory.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        places: Mapping[int, int] | Sequence[int],
        forget: Callable[[], None] | None = None,
    ) -> None:
        self._connection = connection
        self._places = places
        self._forget = forget
        self._lock = threading.Lock()
        weakref.finalize(self, connection.close)

    def scores(self, expression: str) -> dict[int, float]:
        """The rows that an FTS5 expression matches, with their BM25: more is better."""
        sql = "SELECT rowid, -bm25(sections, ?, ?, ?) FROM sections WHERE sections MATCH ?"
        return dict(self.ask(sql, *WEIGHTS, expression))

    def rows(self, expression: str) -> list[int]:
        """The rows that an FTS5 expression matches."""
        return [row for (row,) in self.ask("SELECT rowid FROM sections WHERE sections MATCH ?", expression)]

    def place(self, row: int) -> tuple[int, int]:
        """Which article of the library a row is of, and its place in the article."""
        return self._places[row // ROWS], row % ROWS

    def section(self, row: int) -> int:
        """Which section of its article a row is of."""
        ((section,),) = self.ask("SELECT section FROM sections WHERE rowid = ?", row)
        return int(section)

    def marked(self, row: int, expression: str) -> str:
        """The plain text of a row, START and END around what the expression matches."""
        sql = "SELECT highlight(sections, 2, ?, ?) FROM sections WHERE sections MATCH ? AND rowid = ?"
        ((text,),) = self.ask(sql, START, END, expression, row)
        return str(text)

    def ask(self, sql: str, *values: object) -> list[Any]:
        """The rows that a statement selects. Raises UsageError where the file that it is kept in is damaged."""
        import sqlite3

        with self._lock:
            try:
                return self._connection.execute(sql, values).fetchall()
            except (sqlite3.DatabaseError, ValueError) as error:
                if not self._forget:
                    raise
                raise self.damaged() from error

    def damaged(self) -> UsageError:
        """The error for a file that is damaged. It is deleted, and made anew the next time."""
        if self._forget:
            with suppress(OSError):
                self._forget()
        what = "what was kept of the articles cannot be read any more"
        return UsageError(what, "leave and begin again: they are read anew")


def index_of(articles: Sequence[Article]) -> Index:
    """An index of these articles, in memory."""
    import sqlite3

    connection = sqlite3.connect(":memory:", check_same_thread=False)
    connection.execute(TABLE)
    for number, article in enumerate(articles):
        add(connection, number, article)
    return Index(connection, range(len(articles)))


def add(connection: sqlite3.Connection, number: int, article: Article) -> None:
    """Add the sections of an article under a number of its own."""
    title, row = spaced(" ".join((article.title, *article.tags))), number * ROWS
    for place, section in enumerate(article.sections):
        for text in _passages(section):
            connection.execute(
                "INSERT INTO sections(rowid, title, heading, text, section) VALUES (?, ?, ?, ?, ?)",
                (row, title, spaced(section.title), text, place),
            )
            row += 1


def remove(connection: sqlite3.Connection, number: int) -> None:
    """Remove the sections that were added under a number."""
    first = number * ROWS
    connection.execute("DELETE FROM sections WHERE rowid BETWEEN ? AND ?", (first, first + ROWS - 1))


def spaced(text: str) -> str:
    """The text as it is indexed and asked for."""
    return UNSPACED.sub("\u200b\\1\u200b", text)


def _passages(section: Section) -> list[str]:
    """The plain text of a section, cut between words where it is very long: highlighting takes quadratic time."""
    text = plain(re.sub("[\x00-\x08\x0b-\x1f]", " ", section.text))
    return [spaced(part) for part in re.findall(rf"(?s).{{1,{PASSAGE}}}(?!\S)|.{{1,{PASSAGE}}}", text)] or [""]
