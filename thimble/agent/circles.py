"""Circles: where a model begins to say the same again and again, found in its words as they stream."""

from __future__ import annotations

ROUNDS = 4
"""How often in a row the same words are a circle …"""
LEAST_CHARACTERS = 400
"""… where they are at least so many together: a rule under a heading, or a row of zeros, is none."""
LONGEST_CHARACTERS = 1_000
"""What is longer than this is not looked for again."""
_END = LEAST_CHARACTERS // 8
_STRIDE = 50
"""Characters that are looked at together: where no circle is nearly closed, none closes among the next so many."""
_KEPT = ROUNDS * LONGEST_CHARACTERS


class Circles:
    """Takes a text in pieces, and gives it back up to where it has gone round in circles.

    The result does not depend on how the text is cut into pieces.
    """

    def __init__(self) -> None:
        self.closed = False
        self._before = ""

    def feed(self, piece: str) -> str:
        """The part of the next piece that is kept: all, until a circle closes. Then `closed` is true."""
        if self.closed:
            return ""
        text, begun = self._before + piece, len(self._before)
        ends = range(max(begun + 1, LEAST_CHARACTERS), len(text) + 1)
        strides = (ends[at : at + _STRIDE] for at in range(0, len(ends), _STRIDE))
        near = (end for stride in strides if _is_circle(text, stride[0], len(stride) - 1) for end in stride)
        end = next((end for end in near if _is_circle(text, end)), None)
        self.closed, self._before = end is not None, text[-_KEPT:]
        return text[begun:end]


def _is_circle(text: str, end: int, missing: int = 0) -> bool:
    """Whether a text of this length ends in a circle, or in one that lacks at most so many characters.

    Its last characters stand one round earlier too, so that only distances at which they do are tried.
    """
    last, first, at = text[end - _END : end], max(0, end - _END - LONGEST_CHARACTERS), end - 1
    while (at := text.rfind(last, first, at)) >= 0:
        round_ = end - _END - at
        start = end + missing - max(ROUNDS * round_, LEAST_CHARACTERS)
        if start >= 0 and text.startswith(text[start + round_ : end], start):
            return True
        at += _END - 1
    return False
