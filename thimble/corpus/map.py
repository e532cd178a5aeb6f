"""The map of a library: the articles for a question and the links between them, in as many tokens as there is room."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence

from thimble.corpus.article import Article
from thimble.corpus.library import Library
from thimble.corpus.markdown import shorten
from thimble.corpus.search import Search

NEAR_ARTICLES = 5
"""Maximum number of articles named as near another."""
LINE_WEIGHTS = {"title": 1.0, "summary": 0.5, "near": 0.25, "sections": 0.125}
"""The weight of each kind of line: the higher an article ranks, the more of its lines are shown."""


class Map:
    """Draws the part of a library's map that a question needs most. The idea is the repository map of Aider.

    Articles rank by PageRank (Page et al. 1999) personalised to the question (Haveliwala 2002): the reader restarts in
    an article by the square of its fit to the question (`Search.score_articles`), in all equally without one. So an
    article that shares no word with the question can rank too, by the links to it.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._search = Search(library)

    def ranks(self, question: str = "") -> list[float]:
        """The rank of each article of the library, in its order; they sum to 1."""
        fits = self._search.score_articles(question) if question.strip() else {}
        every = range(len(self._library.articles))
        return self._library.graph.pagerank(
            [fits.get(place, 0.0) ** 2 for place in every] if fits else [1.0 for _ in every]
        )

    def text(self, question: str, room: float, size: Callable[[str], float] = len) -> str:
        """As much of the map as fits, best article first; "" if not even one title does.

        An article has a title, then a summary, the articles near it, and its sections. The lines come in the order of
        the rank of their article times their worth; bisection finds how many of them fit. So more room takes no line
        away, if a longer text is never smaller.

        Args:
            question: The words to draw it for; without any, all articles count equally.
            room: The largest size.
            size: Measures a text, in characters or tokens.
        """
        ranks = self.ranks(question)
        every = [(place, kind) for place in range(len(ranks)) for kind in LINE_WEIGHTS]
        every.sort(key=lambda line: (-ranks[line[0]] * LINE_WEIGHTS[line[1]], line[0]))
        most = min(len(every), int(room))  # a line has at least one token
        lines = bisect_right(range(1, most + 1), room, key=lambda lines: size(self._drawn(every[:lines])))
        return self._drawn(every[:lines]) if lines else ""

    def _drawn(self, lines: Sequence[tuple[int, str]]) -> str:
        """The map with these lines, each an article and the kind of line."""
        kinds: dict[int, list[str]] = {}
        for place, kind in lines:
            kinds.setdefault(place, []).append(kind)
        head = f"{len(kinds):,} of {len(self._library.articles):,} articles, best first"
        shown = (self._line(place, kind) for place in kinds for kind in kinds[place])
        return "\n".join([head, *filter(None, shown)])

    def _line(self, place: int, kind: str) -> str:
        article = self._library.articles[place]
        match kind:
            case "title":
                return f"{article.slug} — {shorten(article.title, 100)}"
            case "summary":
                return f"   {shorten(article.summary, 300)}"
            case "near":
                near = self._library.graph.list_neighbours(place, NEAR_ARTICLES)
                return f"   near: {', '.join(self._library.articles[other].slug for other in near)}" if near else ""
            case _:
                return f"   {list_section_titles(article)}"


def list_section_titles(article: Article) -> str:
    """The titles of an article's sections on one line."""
    return shorten("sections: " + "; ".join(shorten(part.title, 100) for part in article.sections), 600)
