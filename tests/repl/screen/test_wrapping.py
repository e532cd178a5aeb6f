"""Lines are broken between words, and nothing of them is lost."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from thimble.repl.screen.wrapping import wrapped

WORDS = st.lists(st.text("aé漢-", min_size=1, max_size=30), min_size=1, max_size=20)


@given(WORDS, st.integers(0, 8), st.integers(10, 80), st.integers(0, 8))
def test_no_word_is_broken_and_none_is_lost(words: list[str], indent: int, width: int, hang: int) -> None:
    lines = wrapped(" " * indent + " ".join(words), width, hang).split("\n")
    assert [word for line in lines for word in line.split()] == words
    for line in lines:
        assert cell_len(line) <= width or len(line.split()) <= 1
    assert lines[0].startswith(" " * indent)
    assert all(line.startswith(" " * (indent + hang)) for line in lines[1:])


@given(st.text("a \n", max_size=200))
def test_what_fits_and_what_is_no_terminal_stays_as_it_is(text: str) -> None:
    assert wrapped(text, 0) == text
    assert wrapped(text, 200) == text
