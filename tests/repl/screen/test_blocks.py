from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.repl.screen.blocks import Blocks

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
