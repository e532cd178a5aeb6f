"""Full-text search over the sections of a library, ranked by BM25."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass
from heapq import nlargest
from itertools import groupby

from corpus.article import Article, Section
from corpus.index import END, START, Index, spaced
from corpus.library import Library
from corpus.markdown import sentences
from corpus.words import content_words

EVERY_TERM, WHOLE_PHRASE = 2.0, 1.5  # a section's score is multiplied by these
MAX_TERMS = 32
SNIPPET = 300
SECTIONS = 8
"""The most sections that count for how well an article fits."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A section that answers a query. The snippet is plain text; a higher score is better."""

    article: Article
    section: Section
    snippet: str
    score: float


class Search:
    """Ranked search over a library, for any query at all.

    May be called from several threads. Ranking: BM25 over the terms that are not stopwords (Robertson and Zaragoza, The
    Probabilistic Relevance Framework, 2009, as SQLite computes it), raised where every term occurs, and again where
    they stand together.
    """

    def __init__(self, library: Library) -> None:
        self._library = library

    def find(self, query: str, limit: int = 5, per_article: int = 2) -> list[Hit]:
        """The best sections for a query, best first; at most `limit`, and `per_article` of one article."""
        expression, scores = self._scores(query)
        best = _best(self._library.index, scores, limit, per_article)
        return [self._hit(self._library.index, expression, row, section, scores[row]) for row, section in best]

    def fits(self, query: str) -> dict[int, float]:
        """How well each article that a query finds fits it, by its place in the library.

        It is the score of its best section, half of that of the next one, a quarter of the third, and so on.
        """
        found: dict[int, list[float]] = defaultdict(list)
        for row, score in self._scores(query)[1].items():
            found[self._library.index.place(row)[0]].append(score)
        return {
            article: sum(score / 2**at for at, score in enumerate(nlargest(SECTIONS, scores)))
            for article, scores in found.items()
        }

    def _scores(self, query: str) -> tuple[str, dict[int, float]]:
        """The expression for a query, and the score of each row that it matches."""
        terms = [f'"{spaced(term)}"' for term in content_words(query)[:MAX_TERMS]]
        if not terms:
            return "", {}
        index, expression = self._library.index, " OR ".join(terms)
        scores = index.scores(expression)
        if not scores:
            expression = " OR ".join(f"{term} *" for term in terms)
            scores = index.scores(expression)
        for narrower, boost in ((" AND ", EVERY_TERM), (" + ", WHOLE_PHRASE)):
            if len(terms) > 1:
                for row in index.rows(narrower.join(terms)):
                    scores[row] *= boost
        return expression, scores

    def _hit(self, index: Index, expression: str, row: int, section: int, score: float) -> Hit:
        article = self._library.articles[index.place(row)[0]]
        return Hit(article, article.sections[section], _snippet(index.marked(row, expression)), score)


def _best(index: Index, scores: dict[int, float], limit: int, per_article: int) -> list[tuple[int, int]]:
    """The best rows, each with its section; of one section, and of equals, the earlier row."""
    best: list[tuple[int, int]] = []
    taken: Counter[int] = Counter()
    seen: set[tuple[int, int]] = set()
    for _, equals in groupby(sorted(scores, key=scores.__getitem__, reverse=True), scores.__getitem__):
        for row in sorted(equals, key=index.place):
            if len(best) >= limit:
                return best
            article, _ = index.place(row)
            if taken[article] == per_article:
                continue
            section = index.section(row)
            if (article, section) not in seen:
                seen.add((article, section))
                taken[article] += 1
                best.append((row, section))
    return best


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
