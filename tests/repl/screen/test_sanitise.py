from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thimble.repl.screen.sanitise import Sanitiser, clean

LIMIT = 4096
FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
INTRODUCERS = ["\x1b", "\x1b[", "\x1b]", "\x1bP", "\x1b_", "\x1b^", "\x1bX", "\x9b", "\x9d", "\x90", "\x9c", "\x1b\\"]
BODIES = ["31m", "0;title", "?25l", *"\x07\x18\r\n\t\x00\x7f\u202e\ud800éa", "\r\n", "日本"]
PIECES = st.sampled_from([*INTRODUCERS, *BODIES])
NASTY = st.lists(PIECES | st.text(max_size=5), max_size=25).map("".join)


@given(NASTY, st.data())
def test_any_chunking_gives_what_the_whole_gives(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=8)))
    sanitiser = Sanitiser()
    bounds = zip([0, *cuts], [*cuts, len(text)], strict=True)
    pieces = [sanitiser.feed(text[start:end]) for start, end in bounds]
    assert "".join(pieces) + sanitiser.flush() == clean(text)


@given(NASTY)
def test_nothing_that_steers_is_left(text: str) -> None:
    shown = clean(text)
    assert not FORBIDDEN.search(shown)
    assert clean(shown) == shown
    shown.encode()


@given(st.text(st.characters(exclude_categories=["Cc", "Cf", "Cs"]) | st.sampled_from("\n\t")))
def test_harmless_text_stays(text: str) -> None:
    assert clean(text) == text


@given(NASTY)
def test_no_sequence_hides_what_comes_long_after(text: str) -> None:
    assert clean(text + "x" * LIMIT + "\x1b\\ the end").endswith(" the end")
    assert clean(text + "y" * (LIMIT + 2) + "z").endswith("z")


@pytest.mark.parametrize(
    "sequence",
    [
        "\x1b[31;1m", "\x1b[2J", "\x9b?1049h", "\x1b[>4;1m", "\x1b[38:2::1:2:3m", "\x1bc", "\x1b(B", "\x1b7",
        "\x1b]0;title\x07", "\x1b]8;;http://evil\x1b\\", "\x9d52;c;ZXZpbA==\x9c", "\x1b]52;c;ZXZpbA==\x07",
        "\x1bP1$r0m\x1b\\", "\x1bPq#0;2;0\n#1;2\x1b\\", "\x1b_Ga=T;AAAA\x1b\\", "\x1b^secret\x1b\\", "\x1bXsos\x9c",
        "\x1bPtmux;\x1b\x1b]0;t\x07\x1b\\", "\x1b[\x0031m", "\x00", "\x07", "\x08", "\x7f", "\x85", "\u202e", "\u2066",
    ],
)  # fmt: skip
def test_a_sequence_goes_whole(sequence: str) -> None:
    assert clean(f"before{sequence}after") == "beforeafter"


@pytest.mark.parametrize(("text", "shown"), [("a\r\nb", "a\nb"), ("a\rb", "a\nb"), ("a\r\r\nb", "a\n\nb")])
def test_a_carriage_return_is_a_newline(text: str, shown: str) -> None:
    assert clean(text) == shown
    sanitiser = Sanitiser()
    assert "".join(map(sanitiser.feed, text)) + sanitiser.flush() == shown
