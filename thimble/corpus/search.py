"""Search over the passages of a library, by words and by meaning."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from thimble.agent.errors import ModelError
from thimble.corpus.article import Article, Section
from thimble.corpus.library import Library
from thimble.corpus.ranking import Ranking

if TYPE_CHECKING:
    from thimble.agent.protocols import Embedder

CITED_BEFORE = re.compile(r"\[([^\[\]]+)\]")
ENOUGH, ENOUGH_WORDS = 0.235, 0.2
"""Minimum score of an answer to a query, and the same if words alone count."""
FITTING_PASSAGES = 8
"""Maximum number of passages of an article that count for its fit."""


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

    @property
    def min_score(self) -> float:
        """The minimum score of an answer to a query."""
        return ENOUGH if self._embedder else ENOUGH_WORDS

    def find(self, query: str, limit: int = 5, earlier: str = "", per_section: int = 1) -> list[Hit]:
        """The passages for a query, the best first, and each next one the best for the words not yet found.

        At most `limit`, and `per_section` of one section. Passages below `min_score` come too; the caller decides.
        `earlier` is the context that the query depends on; an article that is cited there, as [slug], is preferred.
        """
        ranking = self._ranking(query, earlier)
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

    def score_articles(self, query: str) -> dict[int, float]:
        """How well each article that a query finds fits it, by its place in the library.

        It is the score of its best passage, half of that of the next one, a quarter of the third, and so on.
        """
        import numpy as np

        ranking, index = self._ranking(query), self._library.index
        scores = ranking.scores
        found: dict[int, float] = defaultdict(float)
        seen: Counter[int] = Counter()
        for at in np.argsort(-scores, kind="stable")[: np.count_nonzero(scores > 0)]:
            article = int(index.articles[at])
            if seen[article] < FITTING_PASSAGES:
                found[article] += float(scores[at]) / 2 ** seen[article]
                seen[article] += 1
        return dict(found)

    def _ranking(self, query: str, earlier: str = "") -> Ranking:
        """The ranking by words and meaning; by words alone if the server of the embeddings fails."""
        cited = set(CITED_BEFORE.findall(earlier))
        articles = enumerate(self._library.articles) if cited else ()
        at_hand = [place for place, article in articles if article.slug in cited]
        said = CITED_BEFORE.sub("", earlier).strip()
        if self._embedder:
            with suppress(ModelError):
                return Ranking(self._library.index, query, said, self._embedder, at_hand)
        return Ranking(self._library.index, query, said, at_hand=at_hand)
