from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.article import parse
from corpus.library import Library, load
from corpus.questions import load as questions
from corpus.search import SNIPPET, Search
from corpus.words import words

TEXTS = {
    "masking.md": """---
title: Observation masking
tags: [context]
---
Old tool results are hidden. The cache pays for it.

## Hysteresis
Move the line seldom, so that the prefix cache holds. A window that slides at every turn breaks the prefix.

| W | how many stay |
|---|---|
| 10 | the newest ten |
""",
    "kv.md": """# KV cache

A *cache* of [keys and values](https://x.org) is kept for each token. It is large.

## What breaks a prefix
A changed word breaks the prefix. Nothing behind it is reused. The cache is cold.

## Numbers
```
pages = tokens // 16
```
""",
    "long.md": "One " + "word " * 200 + "zebra " + "word " * 200 + "end.",
    "chinese.md": "# 上下文\n\n模型的上下文窗口有限。缓存可以重用前缀。",
}
LIBRARY = Library(Path("x"), tuple(parse(text, path) for path, text in TEXTS.items()))
SEARCH = Search(LIBRARY)
SECTIONS = {(article.slug, section.title) for article in LIBRARY.articles for section in article.sections}
EVERY_WORD = sorted(
    {word for a in LIBRARY.articles for s in a.sections for word in words(s.text)} - {"https", "x", "org"}
)
NASTY = st.lists(
    st.sampled_from(
        ['"', "*", "NEAR(", "AND", "OR", "NOT", "(", ")", "^", ":", "+", "-", "\0", "🙂", "the", "cache", "\ud800"]
    )
)


def found(query: str, limit: int = 5) -> list[tuple[str, str]]:
    return [(hit.article.slug, hit.section.title) for hit in SEARCH.find(query, limit)]


@given(st.one_of(st.text(), NASTY.map(" ".join), NASTY.map("".join)), st.integers(0, 9))
def test_any_query_is_answered_with_sections_that_exist(query: str, limit: int) -> None:
    hits = SEARCH.find(query, limit)
    assert len(hits) <= limit
    assert len({(hit.article.slug, hit.section.title) for hit in hits}) == len(hits)
    assert all((hit.article.slug, hit.section.title) in SECTIONS for hit in hits)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    for hit in hits:
        assert len(hit.snippet) <= SNIPPET
        assert not set("\x02\x03\u200b\n") & set(hit.snippet)


@given(st.sampled_from(EVERY_WORD))
def test_every_word_of_a_text_is_found(word: str) -> None:
    assert SEARCH.find(word)


@given(st.lists(st.sampled_from(EVERY_WORD), min_size=1))
def test_at_most_two_sections_of_an_article(query: list[str]) -> None:
    slugs = [slug for slug, _ in found(" ".join(query), 20)]
    assert all(slugs.count(slug) <= 2 for slug in slugs)


def test_a_title_weighs_more_than_a_text() -> None:
    assert found("masking")[0][0] == "masking"
    assert found("what breaks a prefix?")[0] == ("kv", "What breaks a prefix")


def test_every_term_beats_some() -> None:
    assert found("hysteresis prefix cache")[0] == ("masking", "Hysteresis")


def test_a_beginning_is_enough_where_no_word_fits() -> None:
    assert found("hyster") == [("masking", "Hysteresis")]
    assert found("qqq") == found("") == found("🙂") == []


def test_endings_do_not_matter() -> None:
    assert ("masking", "Hysteresis") in found("slide windows")


def test_unspaced_writing_is_searched_inside_its_clauses() -> None:
    (hit,) = SEARCH.find("窗口")
    assert (hit.article.slug, hit.snippet) == ("chinese", "模型的上下文窗口有限。 缓存可以重用前缀。")


@pytest.mark.parametrize(
    ("query", "snippet"),
    [
        ("keys", "A cache of keys and values is kept for each token. It is large."),
        ("newest ten", "W · how many stay; 10 · the newest ten"),
        ("pages", "pages = tokens // 16"),
    ],
)
def test_snippets_are_plain_sentences(query: str, snippet: str) -> None:
    assert SEARCH.find(query)[0].snippet.endswith(snippet)


def test_a_very_long_sentence_is_cut_around_the_match() -> None:
    snippet = SEARCH.find("zebra")[0].snippet
    assert snippet.startswith("…word")
    assert " zebra " in snippet
    assert snippet.endswith("word…")


def test_a_section_of_a_whole_book_is_one_hit_and_soon_found() -> None:
    book = parse("# Book\n" + "word " * 200_000 + "zebra", "book.txt")
    search = Search(Library(Path("x"), (book,)))
    assert [hit.section.title for hit in search.find("word")] == ["Opening"]
    assert search.find("zebra word")[0].snippet.endswith("zebra")


def test_the_hits_for_all_questions_are_those_of_when_they_were_written() -> None:
    search, found = Search(load()), sha256()
    for exchange in (each for question in questions().questions for each in question.exchanges):
        for hit in search.find(exchange.question, 20):
            found.update(f"{hit.article.slug}\t{hit.section.title}\t{hit.snippet}\n".encode())
    assert found.hexdigest()[:12] == "1d21cc148e70"


def test_threads_may_share_a_search() -> None:
    search = Search(LIBRARY)
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(search.find, ["prefix cache"] * 20))
    assert all(answer == answers[0] for answer in answers)
