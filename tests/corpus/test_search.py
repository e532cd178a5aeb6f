"""Search: any query is answered, with whole passages, the better ones first, by words and by meaning."""

from __future__ import annotations

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from math import log, sqrt
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.embedding import Counting, counted
from thimble.agent.protocols import Embedder
from thimble.corpus.article import OPENING_TITLE, parse_article
from thimble.corpus.library import Library, load_library
from thimble.corpus.passages import split_passages
from thimble.corpus.ranking import (
    ASKING_TERMS,
    ASKING_WEIGHT,
    CITED_ARTICLE_BONUS,
    CONTEXT_WEIGHT,
    MAX_PER_SECTION,
    MAX_QUERY,
    MAX_TERMS,
    Ranking,
)
from thimble.corpus.search import Search
from thimble.corpus.words import STOPWORDS, content_terms, split_words
from thimble.models.embeddings.static import static_embedder

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

## Naïve eviction
The café of the façade forgets Ångström.
""",
    "moss.md": "# Moss gardens\n\nMoss grows in the shade. It needs light.\n\n**Ferns.** They organise in tufts.\n",
    "chinese.md": "# 上下文\n\n模型的上下文窗口有限。缓存可以重用前缀。",
}
LIBRARY = Library(Path("x"), tuple(parse_article(text, path) for path, text in TEXTS.items()))
EMBEDDERS: dict[str, Embedder | None] = {"words alone": None, "counting": Counting()}
if (static := static_embedder()) is not None:
    EMBEDDERS["static"] = static
SEARCHES = {name: Search(LIBRARY, embedder) for name, embedder in EMBEDDERS.items()}
with_each = pytest.mark.parametrize("name", SEARCHES)
SEARCH = SEARCHES["words alone"]
EVERY_WORD = sorted(
    {word for a in LIBRARY.articles for s in a.sections for p in split_passages(s.text) for word in split_words(p.text)}
    - STOPWORDS
)
NASTY = st.lists(
    st.sampled_from(
        [
            *('"', "*", "NEAR(", "AND", "OR", "NOT", "(", ")", "^", ":", "+", "-", "\0", "🙂"),
            *("the", "cache", "\ud800", "[kv]"),
        ]
    )
)
QUERIES = st.one_of(
    st.text(), NASTY.map(" ".join), NASTY.map("".join), st.lists(st.sampled_from(EVERY_WORD)).map(" ".join)
)


def found(query: str, limit: int = 5, earlier: str = "", search: Search = SEARCH) -> list[tuple[str, str]]:
    return [(hit.article.slug, hit.section.title) for hit in search.find(query, limit, earlier)]


@with_each
@given(QUERIES, QUERIES, st.integers(0, 9), st.integers(1, 3))
def test_any_query_is_answered_with_passages_that_stand_there(
    name: str, query: str, earlier: str, limit: int, per_section: int
) -> None:
    hits = SEARCHES[name].find(query, limit, earlier, per_section)
    assert len(hits) <= limit
    places = Counter((hit.article.slug, hit.section.title) for hit in hits)
    assert all(times <= per_section for times in places.values())
    assert len({(hit.article.slug, hit.section.title, hit.text) for hit in hits}) == len(hits)
    for hit in hits:
        assert hit.article in LIBRARY.articles
        assert hit.section in hit.article.sections
        assert hit.text in [passage.text for passage in split_passages(hit.section.text)]
        assert 0 < hit.score <= 1 + CITED_ARTICLE_BONUS + 1e-6
    assert all(hit.score <= hits[0].score for hit in hits)


@with_each
@given(QUERIES)
def test_the_same_query_has_the_same_hits_and_a_lower_limit_their_beginning(name: str, query: str) -> None:
    hits = SEARCHES[name].find(query, 9)
    assert SEARCHES[name].find(query, 9) == hits
    assert SEARCHES[name].find(query, 3) == hits[:3]


@with_each
@given(st.sampled_from(EVERY_WORD))
def test_every_word_of_a_text_is_found(name: str, word: str) -> None:
    hits = SEARCHES[name].find(word, 50, per_section=9)
    assert any(word in split_words(hit.text) for hit in hits)


@pytest.mark.parametrize("query", ["", " ", "qqq", "🙂", "zzz yyy", "the of"])
def test_a_query_without_a_word_of_the_library_finds_nothing(query: str) -> None:
    assert found(query) == []


@given(QUERIES)
def test_how_well_an_article_fits_follows_from_its_passages(query: str) -> None:
    fits = SEARCH.score_articles(query)
    hits = SEARCH.find(query, 99, per_section=99)
    assert {LIBRARY.articles[place] for place in fits} == {hit.article for hit in hits}
    for place, fit in fits.items():
        scores = sorted((hit.score for hit in hits if hit.article is LIBRARY.articles[place]), reverse=True)[:8]
        assert fit == pytest.approx(sum(score / 2**at for at, score in enumerate(scores)))


# What the score is, written apart: BM25 as in the documentation of FTS5, and the cosine.


@cache
def rows() -> list[tuple[list[str], list[str], list[str], str]]:
    """The terms of each passage's title, heading and text, and the text that is embedded."""
    found = []
    for article in LIBRARY.articles:
        for section in article.sections:
            for passage in split_passages(section.text):
                head = f"{'' if section.title == OPENING_TITLE else section.title} {passage.heading}".strip()
                above = f"{article.title}. {head} {passage.text}"
                found.append((content_terms(article.title), content_terms(head), content_terms(passage.text), above))
    return found


def bm25_share(weights: dict[str, float], at: int) -> float:
    every = [{*title, *head, *text} for title, head, text, _ in rows()]
    lengths = [len(title) + len(head) + len(text) for title, head, text, _ in rows()]
    mean = sum(lengths) / len(lengths)
    got = most = 0.0
    for term, weight in weights.items():
        holding = sum(term in held for held in every)
        rarity = max(log((len(every) - holding + 0.5) / (holding + 0.5)), 1e-6)
        title, head, text, _ = rows()[at]
        often = 2.0 * title.count(term) + 2.0 * head.count(term) + text.count(term)
        got += weight * rarity * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * lengths[at] / mean))
        most += weight * rarity * 2.2
    return got / most if most else 0.0


def cosine(query: str, earlier: str, at: int) -> float:
    def length(vector: list[float]) -> float:
        return sqrt(sum(number * number for number in vector))

    def unit(vector: list[float]) -> list[float]:
        return [number / (length(vector) or 1) for number in vector]

    both = [
        now + CONTEXT_WEIGHT * before for now, before in zip(unit(counted(query)), unit(counted(earlier)), strict=True)
    ]
    passage = unit(counted(rows()[at][3]))
    return sum(one * other for one, other in zip(unit(both), passage, strict=True))


KNOWN_QUERIES = st.lists(st.sampled_from(EVERY_WORD), max_size=12).map(" ".join)


@given(KNOWN_QUERIES, KNOWN_QUERIES, st.booleans(), st.sets(st.integers(0, 3)))
def test_the_score_is_the_mean_of_the_share_of_words_and_the_cosine(
    query: str, earlier: str, meant: bool, at_hand: set[int]
) -> None:
    weights = {term: CONTEXT_WEIGHT for term in content_terms(earlier)} | {
        term: ASKING_WEIGHT if term in ASKING_TERMS else 1.0 for term in content_terms(query)
    }
    weights = dict(list(weights.items())[-MAX_TERMS:])
    scores = Ranking(LIBRARY.index, query, earlier, Counting() if meant else None, sorted(at_hand)).scores
    assert len(scores) == len(rows())
    for at, score in enumerate(scores):
        fit = bm25_share(weights, at)
        fit = (fit + cosine(query, earlier, at)) / 2 if meant and weights else fit
        near = CITED_ARTICLE_BONUS if int(LIBRARY.index.articles[at]) in at_hand and fit > 0 else 0.0
        assert score == pytest.approx(fit + near, abs=1e-5)


@given(QUERIES)
def test_the_best_first_and_each_passage_that_fits_once(query: str) -> None:
    ranking = Ranking(LIBRARY.index, query)
    best = list(ranking.best())
    order = LIBRARY.index.rows.tolist()
    assert len({row for row, _ in best}) == len(best) == sum(score > 0 for score in ranking.scores)
    assert all(score == ranking.scores[order.index(row)] for row, score in best)
    assert not best or best[0][1] == max(ranking.scores)


# Words: endings, spellings, typing errors, writings without blanks.


@pytest.mark.parametrize(
    ("query", "other"),
    [
        ("slide windows", "sliding window"),
        ("organize tufts", "organised tuft"),
        ("organization", "organisation"),
        ("gardening", "garden"),
        ("CACHES", "cached"),
        ("naive cafe", "naïve café"),
        ("NAÏVE CAFÉ", "nai\u0308ve cafe\u0301"),
    ],
)
def test_the_forms_and_spellings_of_a_word_are_one(query: str, other: str) -> None:
    assert found(query) == found(other) != []
    assert [hit.score for hit in SEARCH.find(query)] == [hit.score for hit in SEARCH.find(other)]


LONG = sorted(
    word
    for word in EVERY_WORD
    if len(word) > 5 and word.isascii() and word.isalpha() and len(content_terms(word)[0]) > 5
)


@given(st.data(), st.sampled_from(LONG))
def test_a_word_with_two_letters_exchanged_is_found(data: st.DataObject, word: str) -> None:
    at = data.draw(st.integers(1, len(content_terms(word)[0]) - 2))
    wrong = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    hits = SEARCH.find(wrong, 50, per_section=9)
    assert any(
        content_terms(word)[0] in content_terms(f"{hit.article.title} {hit.section.title} {hit.text}") for hit in hits
    )


def test_unspaced_writing_is_searched_inside_its_clauses() -> None:
    (hit,) = SEARCH.find("窗口")
    assert (hit.article.slug, hit.text) == ("chinese", "模型的上下文窗口有限。 缓存可以重用前缀。")


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("keys", "A cache of keys and values is kept for each token. It is large."),
        ("newest ten", "10 · how many stay: the newest ten."),
        ("pages", "pages = tokens // 16"),
    ],
)
def test_a_hit_is_plain_sentences(query: str, text: str) -> None:
    assert SEARCH.find(query)[0].text.endswith(text)


# Questions: what was said before, two things at once, meaning.


@with_each
@given(st.sampled_from(["kv", "masking", "moss", "chinese"]), KNOWN_QUERIES)
def test_a_citation_adds_the_same_to_every_hit_of_its_article(name: str, slug: str, query: str) -> None:
    before, after = (
        {(hit.article.slug, hit.text): hit.score for hit in SEARCHES[name].find(query, 99, earlier, per_section=9)}
        for earlier in ("", f"[{slug}]")
    )
    assert {
        place: score + CITED_ARTICLE_BONUS * (place[0] == slug) for place, score in before.items()
    } == pytest.approx(after)


@with_each
def test_earlier_words_help_a_question_that_leans_on_them(name: str) -> None:
    assert found("how much light does it need", 1, "tell me of moss", SEARCHES[name])[0][0] == "moss"
    assert found("and what breaks it?", 1, "a prefix", SEARCHES[name])[0] == ("kv", "What breaks a prefix")


@with_each
def test_two_things_in_one_query_both_come(name: str) -> None:
    hits = found("hysteresis or moss or ferns?", 2, search=SEARCHES[name])
    assert {slug for slug, _ in hits} == {"masking", "moss"}


SHIPPED = load_library()


@pytest.mark.skipif(static is None, reason="wordllama is not installed")
@pytest.mark.parametrize(
    ("query", "slug"),
    [
        ("hiding old tool outputs to save room", "observation-masking"),
        ("splitting a document into pieces before search", "chunking"),
        ("do models invent facts that are not true?", "hallucination"),
        ("how can I make the answers come faster", "latency"),
    ],
)
def test_a_question_in_other_words_finds_its_article_by_meaning(query: str, slug: str) -> None:
    assert Search(SHIPPED, static).find(query)[0].article.slug == slug


def test_a_server_of_embeddings_that_fails_leaves_the_words() -> None:
    gone = Counting(fails=True)
    assert Search(LIBRARY, gone).find("prefix cache") == SEARCH.find("prefix cache") != []
    assert gone.asked


def test_the_passages_are_embedded_once() -> None:
    counting = Counting(name="once")
    library = Library(Path("x"), (parse_article("# Other\n\nOne text.", "other.md"), *LIBRARY.articles))
    for query in ("cache", "prefix", "cache"):
        Search(library, counting).find(query)
    assert len([texts for texts in counting.asked if len(texts) > 2]) == 1


# Large and shared.


def test_a_book_is_soon_found() -> None:
    book = parse_article("# Book\n" + "word word word word. " * 50_000 + "A zebra.", "book.txt")
    search = Search(Library(Path("x"), (book,)))
    assert [hit.section.title for hit in search.find("word")] == ["Opening"]
    assert search.find("zebra word")[0].text.endswith("zebra.")


@with_each
def test_threads_may_share_a_search(name: str) -> None:
    search = Search(Library(Path("y"), LIBRARY.articles[1:]), EMBEDDERS[name])
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(search.find, ["prefix cache"] * 20))
    assert all(answer == answers[0] for answer in answers)
    assert answers[0]


@with_each
def test_a_library_without_a_passage_finds_nothing(name: str) -> None:
    search = Search(Library(Path("x"), (parse_article("## Only a heading", "empty.md"),)), EMBEDDERS[name])
    assert search.find("heading") == []
    assert search.score_articles("heading") == {}


def test_a_section_without_end_does_not_hold_a_search_up() -> None:
    text = "- a prefix cache\n" * 6_000
    library = Library(Path("x"), (parse_article(text, "a.md"), parse_article("# Moss\n\nA prefix of moss.", "b.md")))
    ranked = [row for row, _ in Ranking(library.index, "prefix cache").best()]
    assert len(library.index.rows) > 10 * MAX_PER_SECTION
    assert len(ranked) == MAX_PER_SECTION + 1
    assert [hit.article.slug for hit in Search(library).find("prefix cache", 20)] == ["a", "b"]


@pytest.mark.parametrize("part", ["缓", "a ", "\u0300\u0316", "zzzq"])
def test_of_a_query_without_end_the_beginning_is_searched(part: str) -> None:
    query = part * 1_000_000
    assert SEARCH.find(query, 5, query) == SEARCH.find(query[:MAX_QUERY], 5, query[:MAX_QUERY])
