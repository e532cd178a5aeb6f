"""The tools over the library: list_articles, search_articles, read_article."""

from __future__ import annotations

from collections.abc import Iterable

from thimble.agent.errors import ToolError, UsageError
from thimble.agent.protocols import Embedder, Tool
from thimble.corpus.article import OPENING_TITLE, Article, Section
from thimble.corpus.library import Library
from thimble.corpus.manual import MANUAL_SLUG, load_manual
from thimble.corpus.markdown import shorten, split_paragraphs
from thimble.corpus.observations import (
    ARTICLE,
    INDENT,
    LISTED_ARTICLE,
    NEAR_ARTICLE,
    PAGE_REST,
    PART,
    PASSAGE,
    SECTIONS_LINE,
)
from thimble.corpus.ranking import MAX_QUERY
from thimble.corpus.search import Hit, Search
from thimble.corpus.words import content_words, slugify
from thimble.tools.schema import tool
from thimble.tools.wording import PAGE_CHARACTERS, count_noun, format_call, quote, split_pages

LISTED_ARTICLES = 20
FEW_ARTICLES = 3
"""With fewer articles on a topic, the nearest others are listed too; also, the most named if nothing fits a query."""


def article_tools(library: Library, embedder: Embedder | None = None) -> list[Tool]:
    """The tools bound to one library, which is also searched by meaning if there is an embedder."""
    articles = ArticleTools(library, embedder)
    return [tool(articles.list_articles), tool(articles.search_articles), tool(articles.read_article)]


class ArticleTools:
    """The tools of a library. The model reads the docstrings of the methods."""

    def __init__(self, library: Library, embedder: Embedder | None = None) -> None:
        self._library = library
        self._embedder = embedder
        self._search = Search(library, embedder)

    def list_articles(self, topic: str = "", page: int = 1) -> str:
        """List the articles of the library, with a summary of each.

        Args:
            topic: Only articles about this, such as "agents".
            page: 20 articles a page.
        """
        asked = bool(topic.strip())
        articles = self.about(topic) if asked else self._library.articles
        about = f" about {quote(topic)}" if asked else ""
        if not articles:
            return f"No articles{about}.\nKnown tags: {', '.join(self._library.tags) or 'none'}"
        pages = -(-len(articles) // LISTED_ARTICLES)
        _check_page(page, pages)
        first = (page - 1) * LISTED_ARTICLES
        shown = enumerate(articles[first : first + LISTED_ARTICLES], first + 1)
        lines = [count_noun(len(articles), "article") + about, *(_list_entry(*numbered) for numbered in shown)]
        if page < pages:
            more = format_call("list_articles", topic=shorten(topic, 80), page=page + 1)
            lines.append(PAGE_REST.written(place=PART.written(page=page, pages=pages), call=more, what="more"))
        return "\n".join(lines)

    def search_articles(self, query: str, limit: int = 5, earlier: str = "") -> str:
        """Find the passages that answer a question best, by words and by meaning, each with a score from 0 to 1.

        Args:
            query: A question, or a few words.
            limit: Results, 1 to 20.
            earlier: What the question leans on: the one before, and the [slug] spoken of.
        """
        search = self._search
        if f"[{MANUAL_SLUG}" in earlier:  # a question that leans on a page of the manual
            search = Search(load_manual(), self._embedder)
        hits = search.find(query, max(1, min(limit, 20)), earlier)
        notes = (
            [f"[only the first {MAX_QUERY:,} characters of the query were searched]"] if len(query) > MAX_QUERY else []
        )
        if not hits or hits[0].score < search.min_score:
            lines = [f"No results for {quote(query)}."]
            if near := _articles(hits)[:FEW_ARTICLES]:
                names = (NEAR_ARTICLE.written(slug=article.slug, title=article.title) for article in near)
                lines += ["Nearest articles:", *names]
            return "\n".join([*lines, *notes])
        lines = [f"{count_noun(len(hits), 'result')} for {quote(query)}"]
        for number, hit in enumerate(hits, 1):
            article = hit.article
            of = {"slug": article.slug, "title": article.title, "section": shorten(hit.section.title, 100)}
            lines.append(PASSAGE.written(number=number, **of, score=f"{hit.score:.2f}"))
            lines.append(f"{INDENT}{hit.text}")
        return "\n".join([*lines, *notes])

    def read_article(self, slug: str, section: str = "", page: int = 1) -> str:
        """Read an article, or one section of it.

        Args:
            slug: As listed.
            section: Title of a section.
            page: A long text has several.
        """
        article = self._find(slug)
        chosen = _sections(article, section) if section.strip() else article.sections
        pages = paginate([_rendered(part) for part in chosen])
        _check_page(page, len(pages))
        part = PART.written(page=page, pages=len(pages))
        named = shorten(chosen[0].title, 100) if section.strip() else ""
        place = part if not named else f"section: {named}" + f" · {part}" * (len(pages) > 1)
        length = count_noun(sum(part.words for part in chosen), "word")
        facts = ARTICLE.written(slug=article.slug, place=place, length=length)
        head = [f"# {article.title}", facts, *([] if named else [_contents(article)])]
        text = "\n".join(head) + f"\n\n{pages[page - 1]}"
        if page < len(pages):
            rest = format_call("read_article", slug=article.slug, section=named, page=page + 1)
            text += f"\n\n{PAGE_REST.written(place=part, call=rest, what='the rest')}"
        return text

    def about(self, topic: str, near: int = FEW_ARTICLES) -> list[Article]:
        """The articles on a topic; if there are few, also the `near` articles with the best passages for it."""
        fits = self._search.score_articles(topic)
        best = {self._library.articles[place].slug: place for place in sorted(fits, key=lambda place: -fits[place])}
        rank = {slug: rank for rank, slug in enumerate(best)}
        named = content_words(topic)
        found = sorted(self._library.matching(topic), key=lambda article: rank.get(article.slug, len(rank)))
        found.sort(key=lambda article: named not in (content_words(article.slug), content_words(article.title)))
        if len(found) < FEW_ARTICLES and any(
            hit.score >= self._search.min_score for hit in self._search.find(topic, 1)
        ):
            slugs = {article.slug for article in found}
            found += [self._library.articles[best[slug]] for slug in [*best][:near] if slug not in slugs]
        return found

    def _find(self, slug: str) -> Article:
        try:
            return self._library.find(slug)
        except UsageError as error:
            raise ToolError(f"{error.what}. {format_call('list_articles')} shows every slug.") from error


def _list_entry(number: int, article: Article) -> str:
    tags = f"; tags: {', '.join(article.tags)}" if article.tags else ""
    facts = shorten(f"{count_noun(article.words, 'word')}{tags}", 200)
    line = LISTED_ARTICLE.written(number=number, slug=article.slug, title=article.title, facts=facts)
    return f"{line}\n{INDENT}{shorten(article.summary, 300)}"


def _articles(hits: Iterable[Hit]) -> list[Article]:
    return list({hit.article.slug: hit.article for hit in hits}.values())


def _check_page(page: int, pages: int) -> None:
    if not 1 <= page <= pages:
        raise ToolError(f"there is no page {page}: {'there is 1 page' if pages == 1 else f'there are {pages} pages'}")


def _contents(article: Article) -> str:
    return shorten(SECTIONS_LINE.written(titles="; ".join(shorten(part.title, 100) for part in article.sections)), 600)


def _sections(article: Article, wanted: str) -> list[Section]:
    """The one section whose title matches, or all with exactly this title."""
    title = _folded(wanted)
    for fits in (str.__eq__, str.startswith, str.__contains__):
        found = [part for part in article.sections if fits(_folded(part.title), title)]
        if found and (len(found) == 1 or fits is str.__eq__):
            return found
    raise ToolError(f"{article.slug} has no one section {quote(wanted)}; {_contents(article)}")


def _folded(title: str) -> str:
    return slugify(title) or title.strip().casefold()


def _rendered(section: Section) -> str:
    return section.text if section.title == OPENING_TITLE else f"## {section.title}\n{section.text}"


def paginate(texts: list[str]) -> list[str]:
    """The texts as pages of at most `PAGE_CHARACTERS`, cut between paragraphs if possible."""
    pages = [""]
    for paragraph in (part for text in texts for part in split_paragraphs(text)):
        for piece in split_pages(paragraph):
            joined = f"{pages[-1]}\n\n{piece}" if pages[-1] else piece
            if len(joined) <= PAGE_CHARACTERS:
                pages[-1] = joined
            else:
                pages.append(piece)
    return pages
