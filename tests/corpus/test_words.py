from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.corpus.words import (
    STOPWORDS,
    content_terms,
    content_words,
    fold_word,
    slugify,
    spelled_dates,
    split_words,
    unaccented,
)


@given(st.text())
def test_a_slug_is_its_own_slug(text: str) -> None:
    slug = slugify(text)
    assert slugify(slug) == slug
    assert len(slug) <= 80
    assert " " not in slug


@given(st.text())
def test_content_words_are_words_of_the_text_each_once(text: str) -> None:
    content = content_words(text)
    assert set(content) <= set(split_words(text))
    assert len(content) == len(set(content))
    assert bool(content) == bool(split_words(text))


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


def test_question_words_go_unless_nothing_is_left() -> None:
    assert content_words("What is a KV cache?") == ["kv", "cache"]
    assert content_words("What is it?") == ["what", "is", "it"]


@given(st.text())
def test_a_text_has_terms_if_it_has_words_whatever_its_case(text: str) -> None:
    assert bool(content_terms(text)) == bool(split_words(unaccented(text)))
    assert content_terms(unaccented(text)) == content_terms(text)
    assert all(content_terms(term) for term in content_terms(text))


@given(
    st.lists(st.sampled_from(sorted(STOPWORDS))),
    st.lists(st.sampled_from(["cache", "windows", "17", "Qwen"]), min_size=1),
)
def test_words_without_meaning_are_no_terms_beside_others(small: list[str], others: list[str]) -> None:
    assert content_terms(" ".join(small + others)) == [fold_word(word.lower()) for word in others]
    assert content_terms(" ".join(small)) == [fold_word(word) for word in small]


@pytest.mark.parametrize(
    "family",
    [
        "organise organize organised organizing organisation organizations organiser",
        "quantisation quantization quantise quantized",
        "retrieve retrieved retrieves retriever",
        "compress compression compressed compressor compressing",
        "slide slides sliding",
        "strategy strategies",
    ],
)
def test_the_forms_of_a_word_fold_together(family: str) -> None:
    assert len({fold_word(word) for word in family.split()}) == 1


@pytest.mark.parametrize("words_apart", ["prize price", "agent agency", "cat cation", "lay layer", "mode model"])
def test_other_words_stay_apart(words_apart: str) -> None:
    one, other = words_apart.split()
    assert fold_word(one) != fold_word(other)


def test_a_writing_without_blanks_is_searched_by_character() -> None:
    assert content_terms("KV 缓存 cache") == ["kv", "缓", "存", fold_word("cache")]


def test_a_date_is_also_spelled() -> None:
    assert spelled_dates("on 2026-04-02, not 2026-13-99") == "on 2026-04-02 2 April 2026, not 2026-13-99"
