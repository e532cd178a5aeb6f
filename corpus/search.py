"""Search over the passages of a library, by words and by meaning."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from corpus.article import Article, Section
from corpus.library import Library
from corpus.ranking import Ranking

if TYPE_CHECKING:
    from agent.protocols import Embedder

CITED = re.compile(r"\[([^\[\]]+)\]")
ENOUGH = 0.27
"""The score below which nothing answers a query. Without an embedder every passage with a word of it does."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage that may answer a query: plain text of whole sentences. A higher score is better; it is in [0, 1]."""

    article: Article
    section: Section
    text: str
    score: float


class Search:
    """Search in a library, for any query at all; see `Ranking`. May be called from several threads."""

    def __init__(self, library: Library, embedder: Embedder | None = None) -> None:
        self._library = library
        self._embedder = embedder

    def find(self, query: str, limit: int = 5, earlier: str = "", per_section: int = 1) -> list[Hit]:
        """The passages for a query, the best first, and each next one the best for what is still open.

        At most `limit`, and `per_section` of one section. What is below `ENOUGH` comes too; the caller decides.
        `earlier` is what the query leans on; an article that is cited there, as [slug], is preferred.
        """
        cited = set(CITED.findall(earlier))
        at_hand = (
            [place for place, article in enumerate(self._library.articles) if article.slug in cited] if cited else []
        )
        ranking = Ranking(self._library.index, query, CITED.sub("", earlier).strip(), self._embedder, at_hand)
        taken: Counter[tuple[int, int]] = Counter()
        hits: list[Hit] = []
        for row, score in ranking.best():
            if len(hits) >= limit:
                break
            place = self._library.index.place(row)
            if taken[place.article, place.section] < per_section:
                taken[place.article, place.section] += 1
                article = self._library.articles[place.article]
                hits.append(Hit(article, article.sections[place.section], place.text, score))
        return hits
