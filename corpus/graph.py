"""The graph of a library: which articles lead to which, and how often a reader who follows them comes by each."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from heapq import nsmallest
from pathlib import Path
from typing import TYPE_CHECKING

from corpus.article import OPENING, Article
from corpus.words import content_words, slugify, stem

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

FOLLOWS = 0.3
"""The chance that the reader follows an edge; else it begins anew. Page's 0.85 leads away from the question."""
NEAR_ENOUGH = 1e-12
"""The iteration ends when a step changes all ranks together by less than this."""
LINK = re.compile(r"\]\(([^()\s]{1,500})\)|\[\[([^\[\]|#\n]{1,200})")
"""The target of `[words](target)` or `[[target]]`."""
BOLD = re.compile(r"\*\*(?=\S)([^*\n]{1,80})(?<=\S)\*\*")


@dataclass(frozen=True)
class Graph:
    """The edges between articles, which are numbers below `size`.

    A reader in an article follows its links or its shared terms, at equal chances if it has both: any of the links
    alike, or a term to any other article that has it. A term in n of N articles is taken with a weight of ln(N / n), so
    that a rare one leads more readers to each of fewer articles.

    Attributes:
        size: How many articles there are.
        links: Each link once, from an article to another.
        sharing: For each shared term, the articles that have it: two or more, but not all.
    """

    size: int
    links: Sequence[tuple[int, int]]
    sharing: Sequence[Sequence[int]]

    def pagerank(self, restart: Sequence[float]) -> list[float]:
        """The share of time that the reader spends in each article; they sum to 1.

        PageRank (Page et al. 1999) by power iteration. It begins anew in an article by its share of `restart`, also
        from one without edges: the personalised, or topic-sensitive, form (Haveliwala 2002). A step takes time linear
        in links and terms of all articles; there are about 25, however many articles.

        Args:
            restart: Numbers from 0, of which one is larger.
        """
        import numpy as np

        begun = np.array(restart, float)
        begun /= begun.max()
        begun /= begun.sum()
        ranks, change = begun, 1.0
        while change > NEAR_ENOUGH:
            new = FOLLOWS * self._steps.followed(ranks)
            new += (1 - new.sum()) * begun
            ranks, change = new, abs(new - ranks).sum()
        return [float(rank) for rank in ranks]

    def near(self, article: int, most: int) -> list[int]:
        """The articles to which most readers of an article go on, best first."""
        import numpy as np

        alone = np.zeros(self.size)
        alone[article] = 1
        chances = self._steps.followed(alone)
        return nsmallest(most, np.flatnonzero(chances).tolist(), lambda other: (-chances[other], other))

    @cached_property
    def _steps(self) -> Steps:
        return Steps.of(self)


@dataclass(frozen=True)
class Steps:
    """The chances of a step, one entry a link and one for each term of each article.

    Terms are not turned into pairs of articles, of which a common one has too many: the readers of all articles with a
    term come together, and are spread over all of them but the one that they come from.
    """

    size: int
    source: NDArray[np.int64]
    target: NDArray[np.int64]
    by_link: NDArray[np.float64]
    article: NDArray[np.int64]
    term: NDArray[np.int64]
    by_term: NDArray[np.float64]
    others: NDArray[np.int64]

    @classmethod
    def of(cls, graph: Graph) -> Steps:
        """The chances for a graph."""
        import numpy as np

        size = graph.size
        source, target = np.array(graph.links, np.int64).reshape(-1, 2).T
        many = np.array([len(each) for each in graph.sharing], np.int64)
        article = np.array([each for having in graph.sharing for each in having], np.int64)
        term = np.repeat(np.arange(len(many)), many)
        rarity = np.log(size / many)[term]
        links, terms = np.bincount(source, minlength=size), np.bincount(article, rarity, size)
        ways = (links > 0).astype(float) + (terms > 0)
        by_link = 1 / (links * ways)[source]
        by_term = rarity / (terms * ways)[article]
        return cls(size, source, target, by_link, article, term, by_term, (many - 1)[term])

    def followed(self, readers: NDArray[np.float64]) -> NDArray[np.float64]:
        """How many readers each article has after a step, from those that it has before it."""
        import numpy as np

        along_links = np.bincount(self.target, readers[self.source] * self.by_link, self.size)
        leaving = readers[self.article] * self.by_term
        together = np.bincount(self.term, leaving)[self.term] if len(self.term) else leaving
        along_terms = np.bincount(self.article, (together - leaving) / self.others, self.size)
        return np.asarray(along_links + along_terms, float)


def graph_of(articles: Sequence[Article]) -> Graph:
    """The graph of these articles. A link may name the slug, the file or the title; others are left out."""
    known: dict[str, int] = {}
    for names in (_by_slug, _by_file, _by_title):
        for place, article in enumerate(articles):
            known.setdefault(names(article), place)
    links: list[tuple[int, int]] = []
    having: dict[str, list[int]] = defaultdict(list)
    for place, article in enumerate(articles):
        text = "\n".join(part for section in article.sections for part in (f"**{section.title}**", section.text))
        targets = {known[name] for name in _linked(text) if name in known} - {place}
        links += [(place, target) for target in sorted(targets)]
        for term in sorted(_terms(article, text)):
            having[term].append(place)
    return Graph(len(articles), links, [each for each in having.values() if 2 <= len(each) < len(articles)])


def _by_slug(article: Article) -> str:
    return article.slug


def _by_file(article: Article) -> str:
    return slugify(Path(article.path).stem)


def _by_title(article: Article) -> str:
    return slugify(article.title)


def _linked(text: str) -> Iterator[str]:
    """The names of what a text links to; an address of the web is none."""
    for match in LINK.finditer(text):
        target = (match[1] or match[2]).partition("#")[0]
        if "://" not in target:
            yield slugify(Path(target).stem if match[1] else target)


def _terms(article: Article, text: str) -> set[str]:
    """The stems of the words in title, tags, headings and bold print."""
    bold = (term for term in BOLD.findall(text) if term != OPENING)
    return {_stem(word) for word in content_words(" ".join((article.title, *article.tags, *bold)))}


_stem = lru_cache(maxsize=65_536)(stem)
