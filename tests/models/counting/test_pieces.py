"""Long texts are counted in pieces: the same tokens, in linear time."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models.counting.test_byte_pairs import texts, vocabulary
from thimble.models.counting.byte_pairs import PATTERNS, BytePairs
from thimble.models.counting.message_counter import PIECE_LENGTH, split_pieces

ONE_EACH = sorted({pattern: name for name, pattern in PATTERNS.items()}.values())
long_texts = st.tuples(
    texts, st.sampled_from([" a b", "b c ", "c d1", "d e\n", "e f \n", "f g\n\n", "g h\r\n", "上，下", "文。"])
).map(lambda both: "".join(both) * (2 * PIECE_LENGTH // len("".join(both))))


@given(texts, st.integers(1, 3 * PIECE_LENGTH))
def test_pieces_are_the_text(text: str, times: int) -> None:
    long = (text * times)[: 4 * PIECE_LENGTH]
    assert "".join(split_pieces(long)) == long
    assert all(0 < len(piece) <= PIECE_LENGTH for piece in split_pieces(long))


@pytest.mark.parametrize("name", ONE_EACH)
@settings(max_examples=20)
@given(text=long_texts)
def test_pieces_have_the_tokens_of_the_text(name: str, text: str) -> None:
    pairs = BytePairs(name, vocabulary().merged, (), ())
    assert pairs.tokens(text) == len(pairs._encoding.encode(text))


@pytest.mark.parametrize("letter", ["\n", " ", "x", "語", "-"])
def test_pieces_without_words_cost_a_token_more_at_most(letter: str) -> None:
    pairs, text = vocabulary(), letter * 5 * PIECE_LENGTH
    assert abs(pairs.tokens(text) - len(pairs._encoding.encode(text))) <= 5
