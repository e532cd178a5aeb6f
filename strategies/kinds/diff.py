"""diff: changes of files, unified or of git; a unit is a line, and a line that did not change counts less."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from strategies.kinds.kind import Kind, Unit, line_unit, lines_of, parted

RANGES = r"@@ -\d{1,9}(?:,\d{1,9})? \+\d{1,9}(?:,\d{1,9})? @@"
PLACES = r"\d{1,9}(?:,\d{1,9})?[acd]\d{1,9}(?:,\d{1,9})?"
BEGINS = re.compile(
    rf"^(?:diff --(?:git|cc|combined) |{RANGES}|--- [^\n]*\n\+\+\+ [^\n]*\n{RANGES}|{PLACES}$)", re.MULTILINE
)
SAMPLE = 20_000
"""Characters in which the diff must begin; the message of a commit may stand before it."""
OLD = re.compile(rf"(?P<places>{PLACES}$)|(?P<line>[<>] |---$|[<>]$)")
"""A line of a diff without context, as `diff` writes it."""
HUNK = re.compile(r"(@@+)((?: [-+]\d{1,9}(?:,\d{1,9})?){2,9}) \1")
COUNT = re.compile(r" [-+]\d+(?:,(\d+))?")
FILE = re.compile(
    r"(?P<name>diff -|Only in )|(?P<side>--- |\+\+\+ )|(?P<plain>index |similarity |dissimilarity |\\ )|"
    r"(?P<event>(?:new|deleted) file |(?:old|new) mode |(?:rename|copy) (?:from|to) |Binary files |GIT binary patch)"
)
"""A line outside of the hunks."""
NAME, EVENT, HEAD, PLAIN = 12.0, 4.0, 4.0, -8.0
"""Bits of the name of a file, of what became of it, of the head of a hunk, and of a line that did not change."""


def units(text: str) -> Sequence[Unit] | None:
    """The lines of a text, if at least half of them belong to a diff."""
    if not any(mark in text for mark in ("@@ -", "diff --", "\n< ", "\n> ")) or not BEGINS.search(text, 0, SAMPLE):
        return None
    found = list(_units(lines_of(text)))
    return [unit for unit, _ in found] if sum(known for _, known in found) >= len(found) / 2 else None


def _units(lines: Sequence[str]) -> Iterator[tuple[Unit, bool]]:
    """Each line, and whether it belongs to the diff.

    The head of a hunk says how many lines of each file it has, so that the removed line `-- x` is no name of a file.
    """
    left: list[int] = []
    named = False
    for line in lines:
        if max(left, default=0) > 0 and line[0] in " +-\\\r\n":
            yield _in_hunk(line, left), True
        elif head := HUNK.match(line):
            left, named = [int(count or 1) for count in COUNT.findall(head[2])], False
            yield Unit(line, parted(line)[0], (), HEAD), True
        elif file := FILE.match(line):
            left, named = [], named or file.lastgroup == "name"
            bits = {"name": NAME, "side": PLAIN if named else NAME, "event": EVENT}.get(file.lastgroup or "", PLAIN)
            yield Unit(line, parted(line)[0], (), bits), True
        elif old := OLD.match(line):
            left = []
            yield Unit(line, *parted(line), HEAD if old["places"] else 0.0), True
        else:
            left = []
            yield line_unit(line), False


def _in_hunk(line: str, left: list[int]) -> Unit:
    """A line of a hunk. `left`: how many lines of each old file, and of the new one, are yet to come."""
    signs = line[: len(left) - 1].rstrip().ljust(len(left) - 1)
    shape, cells = parted(line[len(signs) :])
    if line[0] != "\\":
        gone = "-" in signs
        for side, sign in enumerate(signs):
            left[side] -= sign == "-" if gone else sign != "+"
        left[-1] -= not gone
    changed = "+" in signs or "-" in signs
    return Unit(line, signs + shape, cells, 0.0 if changed else PLAIN)


DIFF = Kind("diff", "lines of a diff", units)
