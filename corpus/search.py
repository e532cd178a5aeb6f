"""Full-text search over the sections of a library: SQLite FTS5 in memory, ranked by BM25."""

from __future__ import annotations

import re
import threading
import weakref
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpus.library import Article, Library, Section
from corpus.markdown import plain, sentences
from corpus.words import content_words

if TYPE_CHECKING:
    import sqlite3

WEIGHTS = (4.0, 3.0, 1.0)  # of the article's title and tags, the section's title, its text
EVERY_TERM, WHOLE_PHRASE = 2.0, 1.5  # a section's score is multiplied by these
MAX_TERMS = 32
SNIPPET = 300
PASSAGE = 10_000
START, END = "\x02", "\x03"  # stand around a matched word; removed from the text before it is indexed
# A writing without spaces is searched by character, since the tokenizer would take a whole clause for one word.
UNSPACED = re.compile(r"([\u3040-\u30ff\u3400-\u9fff])")


@dataclass(frozen=True, slots=True)
class Hit:
    """A section that answers a query. The snippet is plain text; a higher score is better."""

    article: Article
    section: Section
    snippet: str
    score: float


class Search:
    """Ranked search over a library, for any query at all. The index is built by the first one.

    May be called from several threads, one at a time. Ranking: BM25 over the terms that are not stopwords (Robertson
    and Zaragoza, The Probabilistic Relevance Framework, 2009, as SQLite computes it), raised where every term occurs,
    and again where they stand together.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._rows: list[tuple[Article, Section]] = []
        self._index: sqlite3.Connection | None = None
        self._lock = threading.Lock()

    def find(self, query: str, limit: int = 5, per_article: int = 2) -> list[Hit]:
        """The best sections for a query, best first; at most `limit`, and `per_article` of one article."""
        terms = [f'"{_spaced(term)}"' for term in content_words(query)[:MAX_TERMS]]
        if not terms:
            return []
        with self._lock:
            if self._index is None:
                self._build()
            expression = " OR ".join(terms)
            scores = self._scores(expression)
            if not scores:
                expression = " OR ".join(f"{term} *" for term in terms)
                scores = self._scores(expression)
            for narrower, boost in ((" AND ", EVERY_TERM), (" + ", WHOLE_PHRASE)):
                if len(terms) > 1:
                    for row in self._scores(narrower.join(terms)):
                        scores[row] *= boost
            return [self._hit(row, expression, scores[row]) for row in self._best(scores, limit, per_article)]

    def _scores(self, expression: str) -> dict[int, float]:
        assert self._index is not None
        sql = "SELECT rowid, -bm25(sections, ?, ?, ?) FROM sections WHERE sections MATCH ?"
        return dict(self._index.execute(sql, (*WEIGHTS, expression)).fetchall())

    def _best(self, scores: dict[int, float], limit: int, per_article: int) -> list[int]:
        best: list[int] = []
        taken: Counter[str] = Counter()
        seen: set[int] = set()
        for row in sorted(scores, key=lambda row: (-scores[row], row)):
            article, section = self._rows[row]
            if len(best) < limit and taken[article.slug] < per_article and id(section) not in seen:
                best.append(row)
                taken[article.slug] += 1
                seen.add(id(section))
        return best

    def _hit(self, row: int, expression: str, score: float) -> Hit:
        assert self._index is not None
        sql = "SELECT highlight(sections, 2, ?, ?) FROM sections WHERE sections MATCH ? AND rowid = ?"
        (marked,) = self._index.execute(sql, (START, END, expression, row)).fetchone()
        return Hit(*self._rows[row], snippet=_snippet(marked), score=score)

    def _build(self) -> None:
        import sqlite3

        self._index = sqlite3.connect(":memory:", check_same_thread=False)
        weakref.finalize(self, self._index.close)
        self._index.execute(
            "CREATE VIRTUAL TABLE sections USING fts5(title, heading, text, tokenize='porter unicode61')"
        )
        for article in self._library.articles:
            title = _spaced(" ".join((article.title, *article.tags)))
            for section in article.sections:
                for text in _passages(section):
                    values = (len(self._rows), title, _spaced(section.title), text)
                    self._index.execute("INSERT INTO sections(rowid, title, heading, text) VALUES (?, ?, ?, ?)", values)
                    self._rows.append((article, section))


def _passages(section: Section) -> list[str]:
    """The plain text of a section, cut between words where it is very long: highlighting takes quadratic time."""
    text = plain(re.sub("[\x00-\x08\x0b-\x1f]", " ", section.text))
    return [_spaced(part) for part in re.findall(rf"(?s).{{1,{PASSAGE}}}(?!\S)|.{{1,{PASSAGE}}}", text)] or [""]


def _spaced(text: str) -> str:
    return UNSPACED.sub("\u200b\\1\u200b", text)


def _snippet(marked: str) -> str:
    """Whole sentences around the one with the most matched words, at most `SNIPPET` characters."""
    found = sentences(marked.replace("\u200b", "")) or [""]
    counts = [len(set(re.findall(f"{START}(.*?){END}", sentence.casefold()))) for sentence in found]
    first = last = counts.index(max(counts))
    best = _joined(found[first : last + 1])
    if len(best) > SNIPPET:
        return _excerpt(found[first])
    while True:
        longer = _joined(found[first : last + 2])
        earlier = _joined(found[max(0, first - 1) : last + 1])
        if last + 1 < len(found) and len(longer) <= SNIPPET:
            last, best = last + 1, longer
        elif first > 0 and len(earlier) <= SNIPPET:
            first, best = first - 1, earlier
        else:
            return best


def _joined(marked: list[str]) -> str:
    """Sentences on one line; a table row or list item without its own full stop gets a semicolon."""
    texts = [re.sub(f"[{START}{END}]", "", sentence) for sentence in marked]
    ended = [text if re.search(r"\W$", text) else f"{text};" for text in texts[:-1]]
    return " ".join((*ended, *texts[-1:]))


def _excerpt(marked: str) -> str:
    """The part of a very long sentence that begins a little before its first matched word."""
    start = max(0, marked.find(START) - SNIPPET // 3)
    text = re.sub(f"[{START}{END}]", "", marked)
    part = text[start : start + SNIPPET - 2]
    if start:
        part = "…" + part.split(" ", 1)[-1]
    if start + SNIPPET - 2 < len(text):
        part = part.rsplit(" ", 1)[0] + "…"
    return part
