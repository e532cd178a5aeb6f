"""A text that changes little from line to line, written as what is new of it."""

from __future__ import annotations

import zlib
from bisect import bisect_left
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Piece:
    """A text by what it shares with the one before: so many characters at both ends, `text` between, a check of all."""

    text: str
    start: int = 0
    end: int = 0
    crc: int = 0


class Strand:
    """One text after the other, each as a piece. Writer and reader begin anew at the same lines."""

    def __init__(self) -> None:
        self._last = ""

    def begin_anew(self) -> None:
        """The next piece is whole."""
        self._last = ""

    def pack(self, text: str) -> Piece:
        """The text as a piece."""
        before, self._last = self._last, text
        start = shared(before, text)
        end = shared(before[start:][::-1], text[start:][::-1])
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
