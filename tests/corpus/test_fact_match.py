from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.repl.screen.test_sanitise import NASTY
from thimble.corpus.fact_match import missing_words, quotes_fact

PIECES = re.split(" ", "launch code 4711 84,000 € 3 May 2031 per cent 1.5 million the of is GPT-4 日本")
FACTS = st.one_of(NASTY, st.text(max_size=40), st.lists(st.sampled_from(PIECES)).map(" ".join))


@given(FACTS, FACTS)
def test_a_text_that_quotes_the_fact_misses_nothing(before: str, fact: str) -> None:
    assert not missing_words(f"{before}\n\n{fact}", fact)


@given(FACTS)
def test_an_empty_text_misses_all_of_it(fact: str) -> None:
    assert missing_words("", fact) or not fact.strip()


@given(FACTS, FACTS)
def test_no_verdict_only_where_the_question_says_it_all(text: str, fact: str) -> None:
    assert missing_words(text, fact, f"Is it true that\n\n{fact}") is None
    assert missing_words(text, fact) is not None or not fact.strip()


@pytest.mark.parametrize(
    ("fact", "text", "lost"),
    [
        ("The launch code is 4711-Zebra.", "zebra 4711, to launch: codes", []),
        ("The launch code is 4711-Zebra.", "The launch code is 4712.", ["zebra", "4711"]),
        ("Heron costs 84,000 euros a year.", "€84k a year, for Heron: so it costs", []),
        ("Heron costs 84,000 euros a year.", "Heron costs 8,400 euros a year.", ["84000 €"]),
        ("We meet on 14 February 2027 in room 12.", "We meet in room 12 on 2027-02-14.", []),
        ("We meet on 14 February 2027 in room 12.", "We meet in room 12 on 15 February 2027.", ["2027-02-14"]),
        ("It is 42 per cent.", "42%", []),
        ("Alice's key", "Bob's key", ["alice"]),
        ("The second door", "the third door", ["second"]),
        ("日本語のテスト", "日本語", ["日本語のテスト"]),
        ("🙂", "nothing", ["🙂"]),
        ("🙂", "it is a 🙂.", []),
        ("a", "There is a, or so.", []),
        ("a", "At last.", ["a"]),
        ("?", "What else?", ["?"]),
        (".", "Nothing.", ["."]),
        ("the of and", "Of the and", ["the of and"]),
        ("The door is not locked.", "The door is locked.", ["not"]),
        ("The door is not locked.", "The door isn't locked.", []),
        ("Room No. 5", "room 5", []),
        ("発射コードは4711です", "発射コードは「4711」です。", []),
        ("発射コードは4711です", "発射コードは「4712」です。", ["4711"]),
        ("café", "cafe\u0301", []),
    ],
)
def test_words_in_any_order_and_figures_however_written(fact: str, text: str, lost: list[str]) -> None:
    assert missing_words(text, fact) == lost


def test_words_of_the_question_do_not_count_for_the_answer() -> None:
    fact, question = "The launch code is 4711.", "What is the launch code?"
    assert missing_words("4711", fact, question) == []
    assert missing_words("I do not know the launch code", fact, question) == ["4711"]
    assert missing_words("yes", fact, "Is the launch code 4711?") is None
    assert missing_words("I do not know", "The door is not locked.", "Is the door locked?") is None
    assert missing_words("代碼是 4711。", "發射代碼是4711", "發射代碼是什麼?") == []


@given(FACTS, FACTS)
def test_a_text_quotes_what_stands_in_it_alone(before: str, fact: str) -> None:
    assert quotes_fact(f"{before}\n\n1: {fact}\n", fact)
    assert not quotes_fact(f"x{fact.strip()}x", fact) or not fact.strip() or not fact.strip().isascii()


def test_a_part_of_a_word_is_no_quotation() -> None:
    assert not quotes_fact("At last, 14711 and what?", "a")
    assert not quotes_fact("At last, 14711 and what?", "4711")
    assert not quotes_fact("At last, 14711 and what?", "?")
    assert quotes_fact("文件說發射代碼是四七一一。", "發射代碼是四七一一")
