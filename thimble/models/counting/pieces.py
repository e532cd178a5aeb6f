"""Pieces of a long text, so that counting it takes linear time and little memory."""

from __future__ import annotations

import re
from collections.abc import Iterator

LENGTH, SEARCHED = 4_096, 512
"""Characters of a piece, at most; and of its end, where a word must end too."""
_WORD_ENDS = r"(?<=\S)(?= )|(?<=[^\W_])(?=[\n.,;:!?，。、！？；：])|(?<=[A-Za-z])(?=[0-9])"
_PIECE = re.compile(rf"(?s).{{{LENGTH - SEARCHED},{LENGTH}}}(?:{_WORD_ENDS})|.{{1,{LENGTH}}}")


def pieces(text: str) -> Iterator[str]:
    """The text in pieces whose tokens add up to its own.

    A piece ends where every pattern ends a word, such as before a space or a comma. Where 512 characters have no such
    place, it ends anywhere, which makes a token or two too many.
    """
    return (piece[0] for piece in _PIECE.finditer(text))
