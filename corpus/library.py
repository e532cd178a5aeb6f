"""The library: a folder of Markdown or text files, read once and looked up by name or topic."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from agent.errors import UsageError
from corpus import front_matter
from corpus.markdown import heading, marked_lines, plain, sentences, shorten
from corpus.reading import read_text
from corpus.words import content_words, slugify, stem, stems

ARTICLES = Path(__file__).parent / "articles"
SUFFIXES = (".md", ".markdown", ".txt")
FILE_LIMIT_BYTES = 2_000_000
MAX_FILES = 5_000
BEGINNING = 4_000
"""Characters of an article in which its first sentence is looked for."""
OPENING = "Opening"
LEADING_BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")


@dataclass(frozen=True, slots=True)
class Section:
    """A `## ` heading and the text below it; what stands before the first heading is the section "Opening"."""

    title: str
    text: str

    @property
    def words(self) -> int:
        """Length in words, the heading not counted."""
        return len(self.text.split())


@dataclass(frozen=True, slots=True)
class Article:
    """One readable file. It has at least one section; `date` is as written, `path` relative to the folder."""

    slug: str
    title: str
    tags: tuple[str, ...]
    date: str
    summary: str
    sources: tuple[str, ...]
    path: str
    sections: tuple[Section, ...]

    @property
    def words(self) -> int:
        """Length in words, headings and front matter not counted."""
        return sum(section.words for section in self.sections)


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was left out, and why."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Library:
    """The articles of a folder in the order of their paths, with unique slugs, and the files left out."""

    folder: Path
    articles: tuple[Article, ...]
    skipped: tuple[Skipped, ...] = ()

    @property
    def tags(self) -> list[str]:
        """Every tag, sorted."""
        return sorted({tag for article in self.articles for tag in article.tags})

    def get(self, slug: str) -> Article:
        """The article with exactly this slug. Raises UsageError naming the nearest slugs."""
        for article in self.articles:
            if article.slug == slug:
                return article
        import difflib

        slugs = [article.slug for article in self.articles]
        near = difflib.get_close_matches(slugify(slug), slugs, n=3, cutoff=0.4)
        hint = f"; nearest: {', '.join(near)}" if near else ""
        raise UsageError(f"no article {shorten(slug, 80)!r}{hint}", "list the articles to see every slug")

    def find(self, name: str) -> Article:
        """The one article meant by a slug, title or file name, whatever its case and spaces; otherwise as `get`."""
        named = {slugify(name), slugify(Path(name.strip()).stem)} - {""}
        exact = [article for article in self.articles if article.slug == slugify(name)]
        alike = exact or [a for a in self.articles if named & {a.slug, slugify(a.title)}]
        return alike[0] if len(alike) == 1 else self.get(name)

    def matching(self, topic: str) -> list[Article]:
        """The articles whose tags, title, slug and summary hold every word of the topic; `agents` is `agent`."""
        wanted = {stem(word) for word in content_words(topic)}
        return [article for article in self.articles if wanted and wanted <= _subject(article)]


def _subject(article: Article) -> set[str]:
    return stems(" ".join((*article.tags, article.title, article.slug, article.summary)))


def load(folder: Path = ARTICLES) -> Library:
    """Read every Markdown and text file below `folder`; hidden ones and links to folders are not looked at.

    A file that cannot be used is named with its reason in `skipped`: not UTF-8, broken front matter, unreadable,
    larger than 2 MB, empty, a link that leaves the folder, not a regular file. Raises UsageError when the folder is
    missing or nothing in it can be read.
    """
    if not folder.is_dir():
        raise UsageError(f"no folder of articles at {folder}", "name a folder of .md or .txt files (--corpus DIR)")
    articles: list[Article] = []
    skipped: list[Skipped] = []
    taken: set[str] = set()
    paths = _paths(folder, skipped)
    for path in islice(paths, MAX_FILES):
        name = os.fsencode(path.relative_to(folder).as_posix()).decode(errors="replace")
        try:
            article = parse(read_text(_inside(path, folder), FILE_LIMIT_BYTES), name, taken)
        except (OSError, ValueError) as error:
            skipped.append(Skipped(name, getattr(error, "strerror", None) or str(error)))
        else:
            taken.add(article.slug)
            articles.append(article)
    if next(paths, None):
        skipped.append(Skipped(".", f"it holds more than {MAX_FILES:,} files; the others were left out"))
    if not articles:
        why = "; ".join(f"{skip.path}: {skip.reason}" for skip in skipped[:3])
        what = f"no articles in {folder}" + (f" ({why})" if why else "")
        raise UsageError(what, "put .md or .txt files there, or name another folder (--corpus DIR)")
    return Library(folder, tuple(articles), tuple(skipped))


def _paths(folder: Path, skipped: list[Skipped]) -> Iterator[Path]:
    def unreadable(error: OSError) -> None:
        path = Path(error.filename).relative_to(folder)
        skipped.append(Skipped(path.as_posix(), error.strerror or str(error)))

    for where, folders, files in os.walk(folder, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for name in sorted(files):
            if name.lower().endswith(SUFFIXES) and not name.startswith("."):
                yield Path(where, name)


def _inside(path: Path, folder: Path) -> Path:
    if not path.is_symlink():
        return path
    try:
        target = path.resolve(strict=True)
    except (RuntimeError, OSError) as error:  # a loop is the one before Python 3.13, the other from there on
        if isinstance(error, OSError) and error.errno != errno.ELOOP:
            raise
        raise ValueError("it is a link that leads to itself") from error
    if not target.is_relative_to(folder.resolve()):
        raise ValueError("it is a link that leaves the folder")
    return target


def parse(text: str, path: str, taken: set[str] | frozenset[str] = frozenset()) -> Article:
    """The article that a file's text holds. `taken` are slugs in use. Raises ValueError with the reason."""
    meta, body = front_matter.split(text)
    first_heading = _heading(body)
    title = front_matter.one(meta, "title") or first_heading or Path(path).stem
    if first_heading == title:
        body = re.sub(r"\A(?:[^\S\n]*\n)* {0,3}#[ \t].*", "", body)
    if not body.strip():
        raise ValueError("it holds no text")
    return Article(
        slug=_unique(slugify(front_matter.one(meta, "slug") or Path(path).stem) or "article", taken),
        title=shorten(title, 200),
        tags=front_matter.many(meta, "tags", ","),
        date=front_matter.one(meta, "date"),
        summary=front_matter.one(meta, "summary") or shorten(_first_sentence(body) or title, 300),
        sources=front_matter.many(meta, "sources"),
        path=path,
        sections=sections(body),
    )


def sections(body: str) -> tuple[Section, ...]:
    """Cut a text at its `## ` headings, but not inside fenced code. Only blank lines around a section are lost."""
    found: list[tuple[str, list[str]]] = [(OPENING, [])]
    for line, in_code in marked_lines(body):
        if title := None if in_code else heading(line, "##"):
            found.append((title, []))
        else:
            found[-1][1].append(line)
    parts = [Section(title, LEADING_BLANK_LINES.sub("", "\n".join(lines).rstrip())) for title, lines in found]
    return tuple(parts if parts[0].text or len(parts) == 1 else parts[1:])


def _heading(body: str) -> str:
    """The first `# ` heading of a text, "" without one."""
    found = (heading(line, "#") for line, in_code in marked_lines(body) if not in_code)
    return next(filter(None, found), "")


def _first_sentence(body: str) -> str:
    return next(iter(sentences(plain(body.lstrip()[:BEGINNING]))), "")


def _unique(slug: str, taken: set[str] | frozenset[str]) -> str:
    number, candidate = 1, slug
    while candidate in taken:
        number += 1
        candidate = f"{slug}-{number}"
    return candidate
