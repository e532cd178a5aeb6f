from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.words import content_words, slugify, stem, stems, words


@given(st.text())
def test_a_slug_is_its_own_slug(text: str) -> None:
    slug = slugify(text)
    assert slugify(slug) == slug
    assert len(slug) <= 80
    assert " " not in slug


@given(st.text())
def test_content_words_are_words_of_the_text_each_once(text: str) -> None:
    content = content_words(text)
    assert set(content) <= set(words(text))
    assert len(content) == len(set(content))
    assert bool(content) == bool(words(text))


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("KV cache & Prefix_caching.md", "kv-cache-prefix-caching-md"),
        ("Café Ω", "cafe-ω"),
        ("上下文", "上下文"),
        ("?!", ""),
    ],
)
def test_slugs(text: str, slug: str) -> None:
    assert slugify(text) == slug


def test_endings_fold_together() -> None:
    assert len({stem(word) for word in ("cache", "caches", "cached", "caching")}) == 1
    assert stem("agents") == stem("agent")
    assert stem("strategies") == stem("strategy")
    assert stem("planning") == stem("plan")
    assert stem("calling") == stem("call")
    assert stems("bus loss analysis") == {"bus", "loss", "analysis"}


def test_question_words_go_unless_nothing_is_left() -> None:
    assert content_words("What is a KV cache?") == ["kv", "cache"]
    assert content_words("What is it?") == ["what", "is", "it"]
