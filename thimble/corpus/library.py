"""The library: a folder of Markdown or text files, read once and searched by name or topic."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from heapq import nlargest
from itertools import islice
from pathlib import Path

from thimble.agent.errors import UsageError
from thimble.corpus.article import Article, number_slugs
from thimble.corpus.folder import File, Skipped, list_files, read_article
from thimble.corpus.graph import Graph, graph_of
from thimble.corpus.index import Index, index_of
from thimble.corpus.markdown import shorten
from thimble.corpus.words import content_terms, content_words, slugify, stem

ARTICLES = Path(__file__).parent / "articles"
MAX_ARTICLES = 100_000
COMPARED_SLUGS = 500
"""Maximum number of slugs that an unknown one is compared with, letter by letter."""


@dataclass(frozen=True)
class Library:
    """The articles of a folder in the order of their paths, with unique slugs, and the files left out."""

    folder: Path
    articles: tuple[Article, ...]
    skipped: tuple[Skipped, ...] = ()
    kept: Index | None = field(default=None, compare=False, repr=False)

    def __deepcopy__(self, memo: object) -> Library:
        return self

    @cached_property
    def index(self) -> Index:
        """The index of the articles; made in memory if none is cached."""
        return self.kept or index_of(self.articles)

    @cached_property
    def graph(self) -> Graph:
        """The links between the articles; made when first used."""
        return graph_of(self.articles)

    @cached_property
    def tags(self) -> list[str]:
        """Every tag, sorted."""
        return sorted({tag for article in self.articles for tag in article.tags})

    @cached_property
    def _by_slug(self) -> dict[str, Article]:
        return {article.slug: article for article in self.articles}

    @cached_property
    def _by_name(self) -> dict[str, list[Article]]:
        """The articles by slug and by title."""
        found: dict[str, list[Article]] = defaultdict(list)
        for article in self.articles:
            for name in {article.slug, slugify(article.title)}:
                found[name].append(article)
        return found

    @cached_property
    def _name_terms(self) -> dict[str, set[str]]:
        """The folded words of each slug and title."""
        return {article.slug: {*content_terms(f"{article.slug} {article.title}")} for article in self.articles}

    def get(self, slug: str) -> Article:
        """The article with exactly this slug. Raises UsageError naming the nearest slugs."""
        if slug in self._by_slug:
            return self._by_slug[slug]
        near = [article.slug for article in self.named_like(slug)[:3]]
        if not near:
            import difflib

            near = difflib.get_close_matches(
                slugify(slug), _find_similar(slugify(slug), self._by_slug), n=3, cutoff=0.4
            )
        hint = f"; nearest: {', '.join(near)}" if near else ""
        raise UsageError(f"no article {shorten(slug, 80)!r}{hint}", "list the articles to see every slug")

    def find(self, name: str) -> Article:
        """The one article with this slug, title or file name, in any case and spacing, or with all of its words.

        Otherwise as `get`.
        """
        if exact := self._by_slug.get(slugify(name)):
            return exact
        named = {slugify(name), slugify(Path(name.strip().replace("\\", "/")).stem)} - {""}
        alike = [*{article.slug: article for each in named for article in self._by_name.get(each, ())}.values()]
        if not alike:
            wanted = {*content_terms(name)}
            alike = [article for article in self.named_like(name) if wanted <= self._name_terms[article.slug]]
        return alike[0] if len(alike) == 1 else self.get(name)

    def named_like(self, name: str) -> list[Article]:
        """The articles that share words with a name, in slug or title; those with the most of them first."""
        wanted = {*content_terms(name)}
        shared = ((len(wanted & self._name_terms[article.slug]), article) for article in self.articles)
        return [article for _, article in sorted((each for each in shared if each[0]), key=lambda each: -each[0])]

    def matching(self, topic: str) -> list[Article]:
        """The articles with every word of the topic in tags, title, slug or summary; `agents` equals `agent`."""
        wanted = {f" {stem(word)} " for word in content_words(topic)}
        return [article for article in self.articles if wanted and all(word in article.subject for word in wanted)]


def _find_similar(slug: str, slugs: Iterable[str]) -> list[str]:
    """The slugs that share the most pairs of letters with this one, or all if they are few."""
    pairs = {slug[at : at + 2] for at in range(len(slug) - 1)}
    known = list(slugs)
    if len(known) <= COMPARED_SLUGS:
        return known
    return nlargest(COMPARED_SLUGS, known, lambda slug: sum(pair in slug for pair in pairs))


def load_library(
    folder: Path = ARTICLES, keep: Path | None = None, progress: Callable[[int, int], object] = lambda done, of: None
) -> Library:
    """Read every Markdown and text file below `folder`; hidden ones and links to folders are ignored.

    `skipped` names each file that cannot be used, with the reason: not text, unreadable, larger than 2 MB, empty, a
    link that leaves the folder, not a regular file. It also names front matter with an unused part.

    Args:
        folder: The folder of the files.
        keep: The cache file, so that the next time only changed files are read and indexed; None for no cache.
        progress: Called with the number of files read, and the number of files to read.

    Raises:
        UsageError: The folder is missing or has no readable file.
    """
    if not folder.is_dir():
        raise UsageError(f"no folder of articles at {folder}", "name a folder of .md or .txt files (--corpus DIR)")
    seen = list(islice(list_files(folder), MAX_ARTICLES + 1))
    too_many = Skipped(".", f"it contains more than {MAX_ARTICLES:,} files; the others were left out")
    more = [too_many] if len(seen) > MAX_ARTICLES else []
    del seen[MAX_ARTICLES:]
    files = [file for file in seen if isinstance(file, File)]
    index = None
    if keep:
        from thimble.corpus.kept import load_files

        read_, index = load_files(keep, files, progress)
    else:
        read_ = list(map(read_article, files))
    each = iter(read_)
    found = [next(each) if isinstance(file, File) else file for file in seen] + more
    articles = tuple(number_slugs(each for each in found if isinstance(each, Article)))
    skipped = tuple(each for each in found if isinstance(each, Skipped))
    skipped += tuple(Skipped(f"{each.path}, front matter", each.unused) for each in articles if each.unused)
    if not articles:
        why = "; ".join(f"{skip.path}: {skip.reason}" for skip in skipped[:3])
        what = f"no articles in {folder}" + (f" ({why})" if why else "")
        raise UsageError(what, "put .md or .txt files there, or name another folder (--corpus DIR)")
    return Library(folder, articles, skipped, index)
