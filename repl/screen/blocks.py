"""Blocks: cuts streaming Markdown into blocks, each given out once, as soon as it cannot change any more."""

from __future__ import annotations

import re

_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(\s|$)")
_SENTENCE_ENDS = (".", "!", "?", ":", "]", ")")
_ITEM = re.compile(r"\s*([-*+]|\d{1,9}[.)])(\s|$)")


class Blocks:
    """Takes text in pieces, split anywhere. Work is linear in the text, however it is split.

    A paragraph, table or quotation ends at a blank line, a heading at its own end, fenced code at its fence, and a
    list where a line at the margin is no item of it: after a blank line, or (unlike in CommonMark, but as models
    write) after the end of a sentence.
    """

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._partial: list[str] = []
        self._fence = ""
        self._in_list = False

    def feed(self, text: str) -> list[str]:
        """The blocks that this piece finishes."""
        done: list[str] = []
        *complete, rest = text.split("\n")
        for line in complete:
            self._take("".join([*self._partial, line]), done)
            self._partial.clear()
        if rest:
            self._partial.append(rest)
        return done

    def flush(self) -> list[str]:
        """End the text: the blocks that are left."""
        done = self.feed("\n")
        self._finish(done)
        self._fence = ""
        return done

    def open(self, characters: int) -> str:
        """The end of the block that is not finished, of about so many characters."""
        lines = self._lines[:]  # this may be asked from another thread than feeds
        size, first = 0, len(lines)
        while first and size < characters:
            first -= 1
            size += len(lines[first]) + 1
        return "\n".join([*lines[first:], "".join(self._partial)])

    def _take(self, line: str, done: list[str]) -> None:
        if self._fence:
            self._lines.append(line)
            if line.strip().startswith(self._fence) and not line.strip().strip(self._fence[0]):
                self._fence = ""
                self._finish(done, unless=self._in_list)
            return
        item = bool(_ITEM.match(line))
        after_blank = bool(self._lines) and not self._lines[-1].strip()
        if not line.strip():
            self._finish(done, unless=self._in_list)
            if self._in_list:
                self._lines.append(line)
            return
        leaves = after_blank or (bool(self._lines) and self._lines[-1].rstrip().endswith(_SENTENCE_ENDS))
        if self._in_list and leaves and not item and not line.startswith((" ", "\t")):
            self._finish(done)
        self._start(line, item, done)

    def _start(self, line: str, item: bool, done: list[str]) -> None:
        fence = _FENCE.match(line)
        heading = bool(_HEADING.match(line)) and not self._in_list
        if heading or (fence and not self._in_list):
            self._finish(done)
        self._fence = fence[1] if fence else ""
        self._in_list = self._in_list or item
        self._lines.append(line)
        if heading:
            self._finish(done)

    def _finish(self, done: list[str], unless: bool = False) -> None:
        if unless:
            return
        if any(line.strip() for line in self._lines):
            done.append("\n".join(self._lines))
        self._lines.clear()
        self._in_list = False
