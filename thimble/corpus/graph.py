"""The graph of a library: which articles link to which, and how often a reader who follows links visits each."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from thimble.corpus.article import Article
from thimble.corpus.words import slugify

FOLLOW_PROBABILITY = 0.3
"""The chance that the reader follows a link, and does not restart. Page's 0.85 leads away from the question."""
POWER_STEPS = 25
"""Steps of the power iteration, after which the error is at most a share of 0.3 to the power of 25."""
LINK = re.compile(r"\]\(([^()\s]{1,500})\)|\[\[([^\[\]|#\n]{1,200})")
"""The target of `[words](target)` or `[[target]]`."""


@dataclass(frozen=True)
class Graph:
    """The links between articles, which are numbers below `size`; each link once, from an article to another."""

    size: int
    links: Sequence[tuple[int, int]]

    def pagerank(self, restart: Sequence[float]) -> list[float]:
        """The share of time that the reader spends in each article; they sum to 1.

        PageRank (Page et al. 1999) by power iteration. The reader restarts in an article by its share of `restart`,
        also from one without links: the personalised, or topic-sensitive, form (Haveliwala 2002).

        Args:
            restart: A number for each article, not negative, and not all 0.
        """
        import numpy as np

        source, target = np.array(self.links, np.int64).reshape(-1, 2).T
        chance = FOLLOW_PROBABILITY / np.bincount(source, minlength=self.size)[source]
        begun = np.array(restart, float) / max(restart)
        begun /= begun.sum()
        ranks = begun
        for _ in range(POWER_STEPS):
            followed = np.bincount(target, ranks[source] * chance, self.size)
            ranks = followed + (1 - followed.sum()) * begun
        return [float(rank) for rank in ranks]

    def list_neighbours(self, article: int, most: int) -> list[int]:
        """The articles that an article links to, then those that link to it."""
        return list(dict.fromkeys(self._neighbours.get(article, ())))[:most]

    @cached_property
    def _neighbours(self) -> dict[int, list[int]]:
        """The articles that each article links to, then those that link to it."""
        found: dict[int, list[int]] = {}
        for source, target in [*self.links, *((target, source) for source, target in self.links)]:
            found.setdefault(source, []).append(target)
        return found


def graph_of(articles: Sequence[Article]) -> Graph:
    """The graph of these articles. A link may name the slug, the file or the title; others are left out."""
    known: dict[str, int] = {}
    for place, article in enumerate(articles):
        known.setdefault(slugify(article.title), place)
    for place, article in enumerate(articles):
        known.setdefault(slugify(Path(article.path).stem), place)
    known |= {article.slug: place for place, article in enumerate(articles)}
    links: list[tuple[int, int]] = []
    for place, article in enumerate(articles):
        named = dict.fromkeys(
            name for section in article.sections for name in _iter_links(section.text) if name in known
        )
        links += [(place, target) for target in dict.fromkeys(map(known.__getitem__, named)) if target != place]
    return Graph(len(articles), links)


def _iter_links(text: str) -> Iterator[str]:
    """The names in the links of a text; web addresses are left out."""
    for match in LINK.finditer(text):
        target = (match[1] or match[2]).partition("#")[0]
        if "://" not in target:
            yield slugify(Path(target).stem if match[1] else target)
