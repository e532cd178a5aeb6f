"""Repeated lines: the runs of lines in a text that stand in texts before it, found in linear time (LZ77 over lines)."""

from __future__ import annotations

from dataclasses import dataclass

LEAST = 160
"""Characters of a run that is worth a reference; any reference has fewer."""
HEAD = 32
"""Characters of a line by which its place is found."""
TELLING = 8
"""Characters of a line that may begin a run."""


@dataclass(slots=True, eq=False)
class Stretch:
    """Lines that stand as they are: those of the text from some line on up to `end`, in characters."""

    text: str
    end: int


Places = dict[str, tuple[Stretch, int]]
"""The newest text that shows a line, by the head of the line, and the character where the line first begins there."""
Run = tuple[int, int]
"""The characters where a run of lines begins and ends; the newline after it is not part of it."""


def head(line: str) -> str:
    """How a line begins, without the blanks before it; never with an end of its quotation."""
    return line.strip()[:HEAD].partition("` to ")[0]


def cut(text: str, before: Places | None = None) -> tuple[list[Run], Places]:
    """The runs of lines that stand in texts before this one or earlier in it, and the places of its other lines.

    A run begins at a line whose head has a place, and is as long as the lines are equal from there on. Its last line is
    not blank. A line ends at a newline and nowhere else. Without `before`, no runs are looked for.
    """
    runs: list[Run] = []
    own: Places = {}
    start, stretch = 0, Stretch(text, 0)
    while start <= len(text):
        stop = _stop(text, start)
        key = head(text[start:stop])
        place = None if before is None else own.get(key) or before.get(key)
        end = _same(text, start, *place) if place else start
        if end - start >= LEAST:
            runs.append((start, end))
            start, stretch = end + 1, Stretch(text, end)
            continue
        if len(key) >= TELLING:
            own.setdefault(key, (stretch, start))
        start, stretch.end = stop + 1, stop
    return runs, own


def _stop(text: str, start: int) -> int:
    """Where the line ends that begins at `start`."""
    stop = text.find("\n", start)
    return len(text) if stop < 0 else stop


def _same(text: str, start: int, stretch: Stretch, there: int) -> int:
    """Where the longest run of whole lines ends that is the same here and there."""
    end = start
    while start <= len(text):
        stop = _stop(text, start)
        line, stops = text[start:stop], there + stop - start
        whole = stops == stretch.end or (stops < stretch.end and stretch.text[stops] == "\n")
        if not whole or not stretch.text.startswith(line, there):
            break
        if line and not line.isspace():
            end = stop
        start, there = stop + 1, stops + 1
    return end
