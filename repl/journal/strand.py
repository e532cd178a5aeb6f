"""A text that changes little from line to line, written as what is new of it."""

from __future__ import annotations

import zlib
from bisect import bisect_left
from dataclasses import dataclass

PIECE_CHARACTERS = 50
"""What a piece takes beside its text."""
MOST_PIECES = 4
"""A text is written whole again when so many times the pieces since are longer than it."""


@dataclass(frozen=True, slots=True)
class Piece:
    """A text by what it shares with the one before: so many characters at both ends, `text` between, a check of all."""

    text: str
    start: int = 0
    end: int = 0
    crc: int = 0


class Strand:
    """One text after the other, each as a piece; now and then a whole one, so that what is lost is lost for a while."""

    def __init__(self) -> None:
        self._last = ""
        self._written = 0

    def begin_anew(self) -> None:
        """The next piece is whole."""
        self._last, self._written = "", 0

    def pack(self, text: str) -> Piece:
        """The text as a piece."""
        if self._written * MOST_PIECES > len(text):
            self.begin_anew()
        before, self._last = self._last, text
        start = shared(before, text)
        end = shared(before[start:][::-1], text[start:][::-1])
        self._written += PIECE_CHARACTERS + len(text) - start - end if before else 0
        return Piece(text[start : len(text) - end], start, end, checksum(text))

    def unpack(self, piece: Piece) -> str | None:
        """The text; None where the one that it builds on is lost."""
        last = self._last
        if piece.start + piece.end > len(last):
            return None
        text = last[: piece.start] + piece.text + last[len(last) - piece.end :]
        if checksum(text) != piece.crc:
            return None
        self._last = text
        return text


def shared(left: str, right: str) -> int:
    """How many characters both begin with."""
    most = min(len(left), len(right))
    if left[:most] == right[:most]:
        return most
    return bisect_left(range(most), True, key=lambda length: left[: length + 1] != right[: length + 1])


def checksum(text: str) -> int:
    """A CRC-32 of the text."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))
