"""Terminal output without colours and redrawn progress bars, with repeated lines once; everything removed is counted.

docs/reference/tidied.md lists everything that is removed, and the texts that stay unchanged.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import groupby, pairwise

from thimble.corpus.marks import OUR_MARK

STYLE_SEQUENCE = re.compile(r"\x1b(?:\[[0-9;]*+m|\(B)")
ERASES = re.compile(r"\A\x1b\[[02]?K|\x1b\[0?K\Z")
"""Sequences by which a drawing of a line erases the rest of the drawing before."""
ERASES_NOTHING = re.compile(r"\A\x1b\[2K|\x1b\[0?K")
"""Sequences without effect in a line that is drawn once."""
CURSOR = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
"""A control character that may move the cursor in ways that only a terminal knows."""
NARROW = re.compile(r"[ -~\u2500-\u259f]*+")
PERCENT = re.compile(r"([0-9]{1,3}(?:\.[0-9]+)?) ?%")
PROGRESS_BAR = re.compile(r"[\[(|][#=>. \u2500-\u259f-]{4,}[\])|]|[#=>.\u2500-\u259f-]{4}|% \([0-9]+/[0-9]+\)")
CHANGES = re.compile(r"[^A-Za-z]++")
"""Characters that change from one drawing of a progress bar to the next."""
MAX_REPEATS = 3
"""A line that occurs more often than this in a row is shown once."""


def tidy_terminal_text(text: str) -> tuple[str, Counter[str]]:
    """The text, and the number of pieces removed, by their name in the singular; in linear time."""
    went: Counter[str] = Counter()

    def drawn(line: str) -> str:
        """The line without overdrawn progress bars, and without sequences that erase nothing."""
        bare = line.rstrip("\r")
        *drawings, last = bare.split("\r")
        stay = [one for one, after in pairwise((*drawings, last)) if not _is_redrawn(one, after)]
        went["redrawn line"] += len(drawings) - len(stay)
        if not stay:
            last, erased = ERASES_NOTHING.subn("", last)
            went["terminal sequence"] += erased
        return "\r".join([*stay, last]) + line[len(bare) :]

    def once(lines: Iterator[str]) -> Iterator[str]:
        for line, run in groupby(lines):
            times = sum(1 for _ in run)
            if times > MAX_REPEATS:
                went["repeated line"] += times - 1
                yield f"[{times:,} times] {line}"
            else:
                yield from [line] * times

    bare, went["terminal sequence"] = STYLE_SEQUENCE.subn("", text)
    shown = "\n".join(drawn(line) if "\r" in line or "\x1b" in line else line for line in bare.split("\n"))
    if CURSOR.search(shown) or OUR_MARK.search(shown):
        return text, Counter()
    return "\n".join(once(iter(shown.split("\n")))), +went


def _is_redrawn(drawing: str, after: str) -> bool:
    """Whether both draw the same progress bar, and the second covers the first."""
    one, other = ERASES.sub("", drawing), ERASES.sub("", after)
    covers = other != after or (one == drawing and len(one) <= len(other))
    if not covers or not all(NARROW.fullmatch(each) and PROGRESS_BAR.search(each) for each in (one, other)):
        return False
    done, more = PERCENT.search(one), PERCENT.search(other)
    rises = done is not None and more is not None and float(done[1]) <= float(more[1])
    return rises and CHANGES.sub("", one) == CHANGES.sub("", other)
