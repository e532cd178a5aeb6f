"""Prose: words that say little go, facts stay; the bits of a word are those of the equation."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import isclose, log2, prod

from hypothesis import given
from hypothesis import strategies as st

from tests.strategies.test_compress import PROSE
from thimble.corpus.words import STOPWORDS
from thimble.strategies.compression.prose import NEAR, NEAR_MARK, PUNCTUATION, fewer_words, may_go, most_telling
from thimble.strategies.compression.self_information import (
    AROUND_A_WORD,
    COMMON,
    PRIOR_COUNTS,
    SINGLE_COUNTS,
    VOCABULARY,
    prior_probability,
    self_information,
)

WORDS = st.lists(st.sampled_from(["the", "of", "cache", "server", "index", "x1", ""]), max_size=40)


def equation(text: Sequence[str], word: str) -> float:
    """p(word | text), from the equations alone."""
    p0 = COMMON / len(STOPWORDS) if word in STOPWORDS else (1 - COMMON) / VOCABULARY
    p1 = (text.count(word) + PRIOR_COUNTS * p0) / (len(text) + PRIOR_COUNTS)
    told = ["", *text]
    pairs = list(pairwise(told))
    before = told[-1]
    any_pair = sum(first == before for first, _ in pairs)
    return (pairs.count((before, word)) + SINGLE_COUNTS * p1) / (any_pair + SINGLE_COUNTS)


@given(WORDS)
def test_bits_are_those_of_the_equation(text: list[str]) -> None:
    bits = self_information(text)
    for place, word in enumerate(text):
        assert isclose(bits[place], -log2(equation(text[:place], word)))


@given(WORDS)
def test_the_model_shares_out_a_probability_of_one(text: list[str]) -> None:
    known = {word for word in text if word not in STOPWORDS}
    unknown = VOCABULARY - len(known)
    total = sum(equation(text, word) for word in {*STOPWORDS, *known}) + unknown * equation(text, "never said")
    assert isclose(total, 1)
    assert isclose(len(STOPWORDS) * prior_probability("the") + VOCABULARY * prior_probability("cache"), 1)


def test_a_repeated_word_has_fewer_bits_and_a_common_word_fewer_than_a_rare_one() -> None:
    bits = self_information(["the", "cache", "of", "the", "server", "and", "the", "cache", "of", "the", "server"])
    assert bits[0] < bits[1]
    assert bits[7] < bits[1]
    assert sum(bits[6:]) < sum(bits[:5])


PLAIN = ["the", "cache,", "(of", "word.)", "The", "always;", "naïve"]
FACTS = [
    *("57.2%", "2017", "x1", "$1.02", "Smallville", "RLHF", "parse_config()", "a/b.py", "prefix-cache", "日本語"),
    *("not", "never", "No", "don't", "—", "=", "|", "<b>"),
]


def test_plain_words_may_go_and_numbers_names_and_negations_may_not() -> None:
    assert [*filter(may_go, [*PLAIN, *FACTS])] == PLAIN


TEXTS = st.lists(
    st.text(st.sampled_from('the cache of 12 Ab .,"`#|-_'), max_size=60).map("{}\n".format) | st.just("the end. "),
    max_size=8,
).map("".join)


@given(TEXTS, st.integers(0, 300))
def test_words_stay_in_their_order_and_in_the_promised_size(text: str, most: int) -> None:
    short = fewer_words(text, most)
    assert len(short) <= most
    rest = iter(text.split())
    assert all(word in rest for word in short.split())


@given(TEXTS, st.integers(0, 300), st.integers(0, 300))
def test_a_larger_size_has_all_words_of_a_smaller_one(text: str, one: int, other: int) -> None:
    rest = iter(fewer_words(text, max(one, other)).split())
    assert all(word in rest for word in fewer_words(text, min(one, other)).split())


@given(st.lists(st.sampled_from(["the", "of", "cache,", "server", "index.", "so"]), min_size=13, max_size=30))
def test_a_word_tells_what_those_around_it_tell_less_with_each_word_and_mark_between(said: list[str]) -> None:
    words, places, _ = most_telling(" ".join(said))
    bits = self_information([word.strip(AROUND_A_WORD).casefold() for word in said])

    def passed(first: int, last: int) -> float:
        return prod(NEAR_MARK if word[-1] in PUNCTUATION else NEAR for word in said[first:last])

    around = [sum(bits[at] * passed(*sorted((at, place))) for at in range(len(said))) for place in range(len(said))]
    assert [word.strip() for word in words] == said
    assert all(around[one] > around[other] - 1e-9 for one, other in pairwise(places))


def test_facts_stay_and_what_is_said_again_goes() -> None:
    text = "A title\n" + PROSE * 3
    short = fewer_words(text, len(text) // 2)
    assert short.startswith(f"A title\n{PROSE}")
    assert short.count("57.2% faster than parse_config()") == 3
    assert short.count("library") == 1
