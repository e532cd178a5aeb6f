"""A text that changes little from line to line, written as what is new of it."""

from __future__ import annotations

import zlib
from bisect import bisect_left
from dataclasses import dataclass

PIECE_CHARACTERS = 50
"""What a piece takes beside its text."""
MOST_PIECES = 4
"""A text is written whole again where so many times the pieces since, with the one to come, are longer than it."""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A text by what it shares with the one before: so many characters at both ends, `text` between, a check of all."""

    text: str
    start: int = 0
    end: int = 0
    crc: int = 0


class DeltaWriter:
    """Writes one text after the other, each as a piece; now and then a whole one, so that a loss lasts for a while."""

    def __init__(self) -> None:
        self._last = ""
        self._written = 0

    def pack(self, text: str) -> TextDelta:
        """The text as a piece."""
        before, self._last = self._last, text
        start = shared(before, text)
        end = shared(before[start:][::-1], text[start:][::-1])
        self._written += PIECE_CHARACTERS + len(text) - start - end
        if self._written * MOST_PIECES > len(text):
            start = end = self._written = 0
        return TextDelta(text[start : len(text) - end], start, end, checksum(text))


class DeltaReader:
    """Reads one text after the other. `text` is the newest; "" before the first, None where one before it is lost."""

    def __init__(self) -> None:
        self.text: str | None = ""

    def feed(self, piece: TextDelta) -> None:
        """Go on by one piece; a whole one needs none of those before."""
        before = self.text if piece.start or piece.end else ""
        if before is None or piece.start + piece.end > len(before):
            self.text = None
            return
        text = before[: piece.start] + piece.text + before[len(before) - piece.end :]
        self.text = text if checksum(text) == piece.crc else None


def shared(left: str, right: str) -> int:
    """How many characters both begin with."""
    most = min(len(left), len(right))
    if left[:most] == right[:most]:
        return most
    return bisect_left(range(most), True, key=lambda length: left[: length + 1] != right[: length + 1])


def checksum(text: str) -> int:
    """A CRC-32 of the text."""
    return zlib.crc32(text.encode("utf-8", "surrogatepass"))
