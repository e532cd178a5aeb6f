"""What states what: numbers by value and unit, dates by what they pin down, words by their stems, in a row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.corpus.normalise import UNITS, Quantity, has_words, states_answer, tokenize

WORDS = st.text("abcdefghijklmnopqrstuvwxyz ", min_size=1, max_size=30)
NUMBERS = st.decimals(min_value=0, max_value=10**9, places=2).map(lambda number: f"{number:,}")


@given(st.text(max_size=200))
def test_any_text_has_tokens_and_states_itself(text: str) -> None:
    assert states_answer(text, text) == bool(tokenize(text))


@given(WORDS, WORDS, WORDS)
def test_a_text_states_each_run_of_its_words(before: str, answer: str, after: str) -> None:
    said = f"{before} {answer} {after}"
    assert states_answer(said, answer) == bool(tokenize(answer))


@given(NUMBERS, st.sampled_from(sorted(UNITS)), st.sampled_from(sorted(UNITS)))
def test_a_unit_is_part_of_a_number_unless_none_is_asked_for(number: str, unit: str, other: str) -> None:
    assert states_answer(f"about {number} {unit}, they say", f"{number} {unit}")
    assert states_answer(f"about {number} {unit}, they say", number)
    assert not states_answer(f"about {number}, they say", f"{number} {unit}")
    if UNITS[unit][0] != UNITS[other][0]:
        assert not states_answer(f"about {number} {other}", f"{number} {unit}") or UNITS[unit] == UNITS[other]


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("it is 84 per cent", "84 %"),
        ("it is 84.0% of them", "84 percent"),
        ("1,500,000 tokens", "1.5 million"),
        ("a window of 128K tokens", "128,000 tokens"),
        ("the 480B model", "480 billion"),
        ("it took 90 seconds", "1.5 minutes"),
        ("it took 250ms", "0.25 s"),
        ("2 GiB", "2147483648 bytes"),
        ("on February 14, 2024", "14 February 2024"),
        ("on 14 Feb. 2024", "February 2024"),
        ("on 2024-02-14", "14 February 2024"),
        ("in June 2023", "2023"),
        ("it costs 1.29 dollars", "$1.29"),
        ("**observation** `masking`", "observation masking"),
        ("the window slides", "a window slides"),
        ("1.4 percentage points", "1.4 points"),
        ("vLLM 0.6.1 or newer", "0.6.1"),
        ("Qwen3-Coder", "qwen3-coder"),
        ("24x faster", "24 times"),
        ("version 3.9.0 of October 2015", "3.9.0"),
        ("r1,24,66,912374,800000,140.5", "912374"),
    ],
)
def test_a_text_states_an_answer_in_other_words(text: str, answer: str) -> None:
    assert states_answer(text, answer)


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("840 %", "84 %"),
        ("84 turns", "84 %"),
        ("GPT-4 is meant", "4"),
        ("Qwen3-32B", "32"),
        ("14 February 2024", "13 February 2024"),
        ("in 2024", "February 2024"),
        ("1.4 points", "1.4 %"),
        ("masking of observations", "observation masking"),
        ("90 seconds", "90 minutes"),
        ("vLLM 0.6.1", "0.6"),
        ("marketing 2024", "March 2024"),
        ("", "anything"),
        ("anything", ""),
    ],
)
def test_a_text_does_not_state_another_answer(text: str, answer: str) -> None:
    assert not states_answer(text, answer)


PLACES = st.lists(
    st.lists(st.sampled_from(["loop", "tool", "84_%", "cut_off", "2024"]), min_size=1, max_size=3), max_size=4
)


def way(places: list[list[str]]) -> str:
    return " ".join("|".join(words) for words in places)


@given(PLACES, st.data())
def test_a_sentence_with_a_word_for_each_place_holds_the_way_in_any_order(
    places: list[list[str]], data: st.DataObject
) -> None:
    said = [data.draw(st.sampled_from(words)).replace("_", " ") for words in places]
    sentence = ", and ".join(data.draw(st.permutations(said)))
    assert has_words(f"So {sentence}.", way(places))
    assert not has_words(f"So {sentence}.", f"{way(places)} absent")


@given(PLACES, PLACES)
def test_a_way_holds_if_each_of_its_parts_holds(one: list[list[str]], other: list[list[str]]) -> None:
    sentence = "A loop of tools was cut off in 84 % of cases."
    assert has_words(sentence, way(one + other)) == (has_words(sentence, way(one)) and has_words(sentence, way(other)))


def test_a_quantity_keeps_what_was_written() -> None:
    assert tokenize("1.5 minutes") == (Quantity(1.5, "time", 90.0),)
