"""The map of a library: it fits, more room shows more, and the best article for a question stands first."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.corpus.article import parse_article
from thimble.corpus.library import Library, load_library
from thimble.corpus.map import Map

SIZES: list[Callable[[str], float]] = [len, lambda text: -(-len(text) // 4), lambda text: len(text.encode())]
TEXTS = {
    "masking.md": "---\ntitle: Observation masking\nsummary: Old results go.\n---\nSee [it](kv).\n\n## Steps\nTen.",
    "kv.md": "# KV cache\n\nThe cache keeps keys. See [nothing](gone).",
    "moss.md": "# Moss gardens\n\nMoss grows in the shade.",
}
SHIPPED = Map(load_library())
WORDS = st.lists(st.sampled_from(["cache", "moss", "masking", "agents", "the", "qqq", '"', "🙂"]), max_size=4).map(
    " ".join
)


@st.composite
def libraries(draw: st.DrawFn) -> Library:
    """Any small library; some links lead nowhere."""
    count = draw(st.integers(1, 6))
    names = st.sampled_from([f"a{number}" for number in range(8)])
    articles = []
    for number in range(count):
        title, near, heading = draw(WORDS), draw(st.lists(names, max_size=3)), draw(WORDS)
        links = " ".join(f"[x]({name})" for name in near)
        articles.append(
            parse_article(f"# {title or 'Untitled'}\n\nText {links}\n\n## {heading or 'More'}\ntext", f"a{number}.md")
        )
    return Library(Path("x"), tuple(articles))


def titles(text: str) -> list[str]:
    """The slugs of the articles on a map, in their order."""
    return re.findall(r"^([^ ]+) — ", text, re.MULTILINE)


ANY_MAP = st.one_of(st.just(SHIPPED), libraries().map(Map))


@given(ANY_MAP, WORDS, st.integers(0, 5_000), st.sampled_from(SIZES))
def test_the_text_never_exceeds_its_room(drawn: Map, question: str, room: int, size: Callable[[str], float]) -> None:
    text = drawn.text(question, room, size)
    assert not text or size(text) <= room
    assert not text or titles(text)
    assert drawn.text(question, room, size) == text


@given(ANY_MAP, WORDS, st.integers(0, 3_000), st.integers(0, 3_000), st.sampled_from(SIZES))
def test_more_room_takes_nothing_away(
    drawn: Map, question: str, room: int, more: int, size: Callable[[str], float]
) -> None:
    less, text = drawn.text(question, room, size), drawn.text(question, room + more, size)
    assert set(less.split("\n")[1:]) <= {*text.split("\n")[1:]}
    assert titles(less) == [slug for slug in titles(text) if slug in titles(less)]


@given(libraries(), WORDS)
def test_all_of_a_small_library_is_there_if_there_is_room(library: Library, question: str) -> None:
    text = Map(library).text(question, 100_000)
    assert sorted(titles(text)) == sorted(article.slug for article in library.articles)
    assert sum(Map(library).ranks(question)) == pytest.approx(1)


def test_the_whole_text() -> None:
    drawn = Map(Library(Path("x"), tuple(parse_article(text, path) for path, text in TEXTS.items())))
    assert drawn.text("ten", 1_000) == (
        "3 of 3 articles, best first\n"
        "masking — Observation masking\n"
        "   Old results go.\n"
        "   near: kv\n"
        "   sections: Opening; Steps\n"
        "kv — KV cache\n"
        "   The cache keeps keys.\n"
        "   near: masking\n"
        "   sections: Opening\n"
        "moss — Moss gardens\n"
        "   Moss grows in the shade.\n"
        "   sections: Opening"
    )
    assert drawn.text("ten", 60) == "1 of 3 articles, best first\nmasking — Observation masking"
    assert drawn.text("ten", 20) == ""


def test_an_article_that_the_question_does_not_name_is_there_by_its_links() -> None:
    drawn = Map(Library(Path("x"), tuple(parse_article(text, path) for path, text in TEXTS.items())))
    masking, kv, moss = drawn.ranks("ten")
    assert masking > kv > moss == 0


def test_the_right_article_is_among_the_first() -> None:
    for question, slug in {
        "What does a prefix cache save?": "kv-cache-and-prefix-caching",
        "observation masking": "observation-masking",
        "How does a tokeniser cut a word?": "tokenisers",
    }.items():
        assert slug in titles(SHIPPED.text(question, 1_500))[:3]
