"""An article: the text of one Markdown or text file, cut at its headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path

from thimble.corpus import front_matter
from thimble.corpus.markdown import heading_title, marked_lines, shorten, split_sentences, strip_markup
from thimble.corpus.words import slugify, stem_words

BEGINNING_CHARACTERS = 4_000
"""Characters of an article searched for its first sentence."""
OPENING_TITLE = "Opening"
LEADING_BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")


@dataclass(frozen=True, slots=True)
class Section:
    """A `## ` heading and the text below it; the text before the first heading is the section "Opening"."""

    title: str
    text: str

    @property
    def words(self) -> int:
        """Length in words, without the heading."""
        return len(self.text.split())


@dataclass(frozen=True, slots=True)
class Article:
    """One readable file, with at least one section.

    `date` is as written, `path` relative to the folder and written with `/`, `words` counts neither headings nor front
    matter. `subject` holds the folded words of tags, title, slug and summary, each between blanks. `unused` says why
    front matter is not used.
    """

    slug: str
    title: str
    tags: tuple[str, ...]
    date: str
    summary: str
    sources: tuple[str, ...]
    path: str
    words: int
    subject: str = field(repr=False)
    sections: Sequence[Section]
    unused: str = ""


@lru_cache(maxsize=128)
def parse_article(text: str, path: str) -> Article:
    """The article in a file's text; each text is parsed once in a process. Raises ValueError if there is no article."""
    fields, body, unused = front_matter.split_front_matter(text)
    one = {name: ", ".join(values) for name, values in fields.items()}
    first_heading = _first_heading(body)
    stem = Path(path).stem
    title = one.get("title") or first_heading or stem
    if first_heading == title:
        body = re.sub(r"\A(?:[^\S\n]*\n)* {0,3}#[ \t].*", "", body)
    if not body.strip():
        raise ValueError("it contains no text")
    slug = slugify(one.get("slug") or stem) or "article"
    title = shorten(title, 200)
    tags = tuple(re.findall(r"[^\s,\[\]\"'](?:[^,\[\]]*[^\s,\[\]\"'])?", one.get("tags", "")))
    summary = one.get("summary") or shorten(_first_sentence(body) or title, 300)
    parts = split_sections(body)
    return Article(
        slug=slug,
        title=title,
        tags=tags,
        date=one.get("date", ""),
        summary=summary,
        sources=tuple(fields.get("sources", ())),
        path=path,
        words=sum(section.words for section in parts),
        subject=f" {' '.join(sorted(stem_words(' '.join((*tags, title, slug, summary)))))} ",
        sections=parts,
        unused=unused,
    )


def number_slugs(articles: Iterable[Article]) -> Iterator[Article]:
    """The articles, each with its own slug: if a slug is taken, `-2` or the next free number is added."""
    used: set[str] = set()
    last: dict[str, int] = {}
    for article in articles:
        slug, number = article.slug, last.get(article.slug, 1)
        while slug in used:
            number += 1
            slug = f"{article.slug}-{number}"
        last[article.slug] = number
        used.add(slug)
        yield article if number == 1 else replace(article, slug=slug, subject=f"{article.subject}{number} ")


def split_sections(body: str) -> tuple[Section, ...]:
    """Cut a text at its `## ` headings, but not inside fenced code. Only blank lines around a section go."""
    found: list[tuple[str, list[str]]] = [(OPENING_TITLE, [])]
    for line, in_code in marked_lines(body):
        if title := None if in_code else heading_title(line, "##"):
            found.append((title, []))
        else:
            found[-1][1].append(line)
    parts = [Section(title, LEADING_BLANK_LINES.sub("", "\n".join(lines).rstrip())) for title, lines in found]
    return tuple(parts if parts[0].text or len(parts) == 1 else parts[1:])


def _first_heading(body: str) -> str:
    """The first `# ` heading of a text, "" without one."""
    found = (heading_title(line, "#") for line, in_code in marked_lines(body) if not in_code)
    return next(filter(None, found), "")


def _first_sentence(body: str) -> str:
    return next(iter(split_sentences(strip_markup(body.lstrip()[:BEGINNING_CHARACTERS]))), "")
