"""Ranking: how well each passage of an index fits a query, by its words and by its meaning."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from math import log
from typing import TYPE_CHECKING

from thimble.corpus.index import Index
from thimble.corpus.words import content_terms

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from thimble.agent.protocols import Embedder

MAX_TERMS = 32
MAX_QUERY = 4_000
"""Maximum characters that are read of a query, and of its context."""
K1 = 1.2
"""As in the BM25 of SQLite: a term in a passage adds at most (K1 + 1) times its rarity."""
MAX_PER_SECTION = 32
"""Maximum number of passages of one section that are ranked."""
CONTEXT_WEIGHT = 0.6
"""The weight of a word of the context."""
ASKING_WEIGHT = 0.4
"""The weight of a word that only asks, and names no topic."""
ASKING_TERMS = frozenset(
    content_terms(
        "want need like know understand explain describe define definition mean meaning exactly simple word please "
        "tell give example actually really thing stuff people make get happen kind sort question "
        "keep hear term anybody somebody someone everybody everyone worth idea"
    )
)
CITED_ARTICLE_BONUS = 0.1
"""Added to the score of a passage of a cited article."""
MIN_ENTRY_SCORE = 0.9
"""Minimum score of the entry of a term, if a query asks for nothing but that term."""
REPEATED_WEIGHT = 0.5
"""The weight of a word that a better passage has already."""


class Ranking:
    """The passages of an index for one query. A score is the mean of a share of words and a cosine, both at most 1.

    The share of words is BM25 (Robertson and Zaragoza, The Probabilistic Relevance Framework, 2009), divided by the
    most that a passage with every word of the query could get. The cosine is that of the embeddings of query and
    passage. Without an embedder, the share of words counts alone.

    Args:
        index: The passages.
        query: The question, in any words.
        earlier: Its context, if the query depends on one; it counts for less.
        embedder: Makes the vectors.
        at_hand: The cited articles, by their place in the library; their passages score a little more.
    """

    def __init__(
        self,
        index: Index,
        query: str,
        earlier: str = "",
        embedder: Embedder | None = None,
        at_hand: Sequence[int] = (),
    ) -> None:
        import numpy as np

        self._index = index
        query, earlier = query[:MAX_QUERY], earlier[:MAX_QUERY]
        said = {term: CONTEXT_WEIGHT for term in content_terms(earlier)} if earlier else {}
        said |= {term: ASKING_WEIGHT if term in ASKING_TERMS else 1.0 for term in content_terms(query)}
        weights: dict[str, float] = {}
        for term in list(said)[-MAX_TERMS:]:
            known = index.correct_spelling(term)
            weights[known] = max(said[term], weights.get(known, 0))
        self._terms = list(weights)
        total = len(index.rows)
        rarity = [max(log((total - n + 0.5) / (n + 0.5)), 1e-6) for n in map(index.count_passages, self._terms)]
        self._most = np.array([weights[term] for term in self._terms]) * rarity * (K1 + 1)
        shares = [index.bm25(term) / (r * (K1 + 1)) for term, r in zip(self._terms, rarity, strict=True)]
        self._shares = np.array(shares).reshape(len(shares), total)
        self._cosine: NDArray[np.float32] | None = None
        if embedder and self._terms:
            now, before = embedder.embed([query, earlier])
            both = now + CONTEXT_WEIGHT * before
            self._cosine = index.vectors(embedder) @ (both / max(float(np.linalg.norm(both)), 1e-9))
        self._defined = MIN_ENTRY_SCORE * index.entries(
            term for term in content_terms(query) if not (earlier or term in ASKING_TERMS)
        )
        self._at_hand = CITED_ARTICLE_BONUS * np.isin(index.articles, at_hand) if at_hand else np.zeros(total)

    @property
    def scores(self) -> NDArray[np.float64]:
        """The score of each passage, in the order of the index."""
        return self._scores(self._most)

    def _scores(self, most: NDArray[np.float64]) -> NDArray[np.float64]:
        import numpy as np

        share = most @ self._shares / max(most.sum(), 1e-9)
        fit: NDArray[np.float64] = share if self._cosine is None else (share + self._cosine) / 2
        found: NDArray[np.float64] = np.maximum(fit + self._at_hand * (fit > 0), self._defined)
        return found

    def best(self) -> Iterator[tuple[int, float]]:
        """Rows with their scores, the best first; each next one is the best for the words not yet found.

        At most `MAX_PER_SECTION` of one section come.

        A word of a passage that was chosen counts half from then on, so that a query on two things finds both (after
        maximal marginal relevance: Carbonell and Goldstein, 1998).
        """
        import numpy as np

        whole, most = self.scores, self._most.copy()
        left, taken = whole > 0, Counter[int]()
        while left.any():
            at = int(np.argmax(np.where(left, self._scores(most), -1)))
            left[at] = False
            section = int(self._index.sections[at])
            taken[section] += 1
            if taken[section] == MAX_PER_SECTION:
                left &= self._index.sections != section
            row = int(self._index.rows[at])
            yield row, float(whole[at])
            held = self._index.terms(row)
            most *= [REPEATED_WEIGHT if term in held else 1.0 for term in self._terms]
