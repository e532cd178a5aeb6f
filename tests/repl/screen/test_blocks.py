"""Lines are broken between words, and nothing of them is lost."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from thimble.repl.screen.blocks import Blocks
from thimble.repl.screen.wrapping import wrap_text

LINES = st.sampled_from(
    ["", "", "text", "- item", "  more", "1. one", "```python", "```", "~~~", "    code", "# Heading", "| a |", "> q"]
)
DOCUMENTS = st.lists(LINES | st.text(max_size=4), max_size=25).map("\n".join)


def blocks(*pieces: str) -> list[str]:
    splitter = Blocks()
    done = [block for piece in pieces for block in splitter.feed(piece)]
    return done + splitter.flush()


@given(DOCUMENTS, st.data())
def test_any_chunking_gives_the_same_blocks(text: str, data: st.DataObject) -> None:
    cuts = [0, *sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6))), len(text)]
    assert blocks(*(text[a:b] for a, b in pairwise(cuts))) == blocks(text)


@given(DOCUMENTS)
def test_no_line_is_lost_and_none_moves(text: str) -> None:
    kept = [line for block in blocks(text) for line in block.split("\n") if line.strip()]
    assert kept == [line for line in text.split("\n") if line.strip()]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("one\nstill one\n\ntwo", 2),
        ("# Title\ntext", 2),
        ("- a\n- b\n\n- c\n\n  more of c\n\ntext", 2),
        ("1. a\n\n   ```\n   code\n\n   code\n   ```\n2. b", 1),
        ("```\na\n\n# b\n\n- c\n```\ntext", 2),
        ("````\n```\n````\ntext", 2),
        ("text\n```\ncode\n```", 2),
        ("- a\n- b.\nThat was all.", 2),
        ("| a |\n|---|\n| 1 |\n\ntext", 2),
    ],
)
def test_where_blocks_end(text: str, count: int) -> None:
    assert len(blocks(text)) == count


def test_a_block_comes_out_as_soon_as_it_is_finished() -> None:
    splitter = Blocks()
    assert splitter.feed("a paragraph\n") == []
    assert splitter.open(100) == "a paragraph\n"
    assert splitter.feed("\nnext") == ["a paragraph"]
    assert splitter.open(100) == "next"
    assert splitter.feed(" word\n\n") == ["next word"]


def test_the_open_end_is_a_short_one() -> None:
    splitter = Blocks()
    splitter.feed("- item\n" * 1000)
    assert len(splitter.open(50)) < 70


WORDS = st.lists(st.text("aé漢-", min_size=1, max_size=30), min_size=1, max_size=20)


@given(WORDS, st.integers(0, 8), st.integers(10, 80), st.integers(0, 8))
def test_no_word_is_broken_and_none_is_lost(words: list[str], indent: int, width: int, hang: int) -> None:
    lines = wrap_text(" " * indent + " ".join(words), width, hang).split("\n")
    assert [word for line in lines for word in line.split()] == words
    for line in lines:
        assert cell_len(line) <= width or len(line.split()) <= 1
    assert lines[0].startswith(" " * indent)
    assert all(line.startswith(" " * (indent + hang)) for line in lines[1:])


@given(st.text("a \n", max_size=200))
def test_what_fits_and_what_is_no_terminal_stays_as_it_is(text: str) -> None:
    assert wrap_text(text, 0) == text
    assert wrap_text(text, 200) == text
