"""The built-in library: large enough, whole, linked, and nothing written twice."""

from __future__ import annotations

import re
from collections import defaultdict
from datetime import date
from functools import cache

from thimble.agent.messages import Message
from thimble.corpus.article import Article
from thimble.corpus.library import ARTICLES, Library, load_library
from thimble.corpus.markdown import strip_markup
from thimble.models.counting.vocabulary import counter_for

LINK = re.compile(r"\[[^\[\]]+\]\(([^()\s]+)\)")
SHARED_WORDS = 12
"""Words in a row that no two articles have in common."""


@cache
def library() -> Library:
    return load_library()


def body(article: Article) -> str:
    return "\n".join(section.text for section in article.sections)


def test_the_library_is_far_larger_than_the_budget() -> None:
    articles = library().articles
    assert library().skipped == ()
    assert len(articles) == 56
    counter = counter_for("qwen2.5:7b")
    assert sum(counter.count(Message("m", "user", body(article))) for article in articles) >= 100_000


def test_an_article_is_complete_and_can_be_read_by_section() -> None:
    for article in library().articles:
        slug = article.slug
        assert article.path == f"{slug}.md"
        assert 600 <= article.words <= 2_000, slug
        assert article.tags, slug
        assert date(2025, 1, 1) <= date.fromisoformat(article.date) <= date(2026, 12, 31), slug
        assert 5 <= len(article.summary.split()) <= 35, slug
        assert article.sources, slug
        assert len(article.sections) >= 5, slug
        assert all(25 <= section.words <= 450 for section in article.sections), slug
        titles = [section.title.casefold() for section in article.sections]
        assert len(set(titles)) == len(titles), slug


def test_links_lead_to_other_articles() -> None:
    slugs = {article.slug for article in library().articles}
    for article in library().articles:
        links = LINK.findall(body(article))
        assert len(links) >= 2, article.slug
        assert set(links) <= slugs - {article.slug}, article.slug


def test_every_article_is_linked_from_another() -> None:
    linked = {slug for article in library().articles for slug in LINK.findall(body(article))}
    assert {article.slug for article in library().articles} - linked == set()


def test_no_two_articles_share_a_long_passage() -> None:
    held: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for article in library().articles:
        words = re.findall(r"\w+", strip_markup(body(article)).casefold())
        for at in range(len(words) - SHARED_WORDS + 1):
            held[tuple(words[at : at + SHARED_WORDS])].add(article.slug)
    assert {" ".join(run): slugs for run, slugs in held.items() if len(slugs) > 1} == {}


def test_every_tag_brings_articles_together() -> None:
    assert all(library().matching(tag) for tag in library().tags)


def test_no_line_carries_stray_space_and_every_file_ends_in_one_newline() -> None:
    for path in ARTICLES.glob("*.md"):
        text = path.read_text()
        assert not re.search(r"[ \t\r]+$|\t", text, re.MULTILINE), path.name
        assert re.search(r"[^\n]\n\Z", text), path.name
