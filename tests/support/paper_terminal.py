"""A terminal as a roll of paper without an end, which wraps long lines anew when it is made wider or narrower."""

from __future__ import annotations

import re

_PIECE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")
ENDLESS = 10**9
"""Columns of a terminal that never wraps: then nothing moves when its size changes."""


class Roll:
    """Lines as they were written, and where the cursor is: in which of them, before which letter."""

    def __init__(self, columns: int = ENDLESS) -> None:
        self.columns = columns
        self.lines = [""]
        self._line, self._at = 0, 0
        self._wraps = True

    @property
    def text(self) -> str:
        """All that can be read, now and by scrolling back."""
        return "\n".join(line.rstrip() for line in self.lines).rstrip()

    def feed(self, written: str) -> None:
        """Take what a program writes."""
        for found in _PIECE.finditer(written):
            parameter, final, control, text = found.groups()
            if text:
                self._write(text)
            elif control == "\r":
                self._at = self._row()
            elif control == "\n":
                self._down()
            elif final == "A":
                for _ in range(int(parameter or 1)):
                    self._up()
            elif final == "J":
                self.lines[self._line :] = [self.lines[self._line][: self._at]]
            elif parameter == "?7":
                self._wraps = final == "h"
            else:
                assert final in "mhl", f"{found[0]!r} is not known here"

    def _write(self, text: str) -> None:
        if not self._wraps:
            text = text[: self._row() + self.columns - self._at]
        line = self.lines[self._line].ljust(self._at)
        self.lines[self._line] = line[: self._at] + text + line[self._at + len(text) :]
        self._at += len(text)

    def _row(self) -> int:
        """Where the row of the cursor begins; behind the last column it waits in the same row."""
        waits = self._at and self._at == len(self.lines[self._line]) and not self._at % self.columns
        return self._at // self.columns * self.columns - self.columns * bool(waits)

    def _down(self) -> None:
        """A row further down, at the margin: a terminal turns a newline into carriage return and newline."""
        row = self._row()
        if len(self.lines[self._line]) > row + self.columns:
            self._at = row + self.columns
            return
        self._line, self._at = self._line + 1, 0
        if self._line == len(self.lines):
            self.lines.append("")

    def _up(self) -> None:
        self._at = self._row()
        if self._at >= self.columns:
            self._at -= self.columns
        elif self._line:
            self._line -= 1
            self._at = max(0, len(self.lines[self._line]) - 1) // self.columns * self.columns
