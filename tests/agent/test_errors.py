"""How to fix an unknown word."""

from __future__ import annotations

import pytest

from thimble.agent.errors import did_you_mean

KNOWN = ("stats", "sliding-window", "observation-masking", "a talk")


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("stast", "stats"),
        ("STATS", "stats"),
        ("window", "sliding-window"),
        ("obs", "observation-masking"),
        ("maksing", "observation-masking"),
        ("talk", "a talk"),
    ],
)
def test_the_nearest_known_word_is_named_before_the_rest(word: str, meant: str) -> None:
    assert did_you_mean(word, KNOWN) == f"did you mean {meant}?"
    assert did_you_mean(word, KNOWN, "see /help") == f"did you mean {meant}? see /help"


@pytest.mark.parametrize("word", ["", "zzz", "."])
def test_no_known_word_is_named_if_none_is_like_it(word: str) -> None:
    assert did_you_mean(word, KNOWN) == ""
    assert did_you_mean(word, KNOWN, "see /help") == "see /help"
