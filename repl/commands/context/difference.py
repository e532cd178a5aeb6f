"""The difference between a message and what is sent of it: the lines that went, those that came, a few around them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from rich.console import Console
from rich.text import Text

from agent import figures
from repl.screen.sanitise import clean
from repl.screen.theme import is_drawn, say

AROUND = 2
"""Lines that are shown before and after what changed."""
MOST_LINES = 10_000
"""The lines of a text that are compared: to compare more would take seconds."""
LEAST_ROWS, PLAIN_ROWS = 12, 32
"""Rows that are shown at least on a low screen, and at most where there is no screen."""
OTHER_ROWS = 9
"""Rows of a screen that the lines around the difference and the prompt take."""
STYLES = {"-": "fate.dropped", "+": "calm", " ": "quiet"}


@dataclass(frozen=True, slots=True)
class Run:
    """Lines in a row of one kind: `-` is not sent, `+` is sent in their place, a blank stays; "" stands for a gap."""

    sign: str
    lines: Sequence[str]


def difference(before: str, after: str) -> list[Run]:
    """The runs of lines in which two texts differ, with a few lines around; nothing if they have no line in common."""
    old, new = (clean(text).splitlines() for text in (before, after))
    if max(len(old), len(new)) > MOST_LINES:
        return []
    matcher = SequenceMatcher(None, old, new)
    if not any(old[block.a : block.a + block.size] for block in matcher.get_matching_blocks()):
        return []
    return [*_runs(old, new, matcher)]


def _runs(old: Sequence[str], new: Sequence[str], matcher: SequenceMatcher[str]) -> Iterator[Run]:
    shown = 0
    for group in matcher.get_grouped_opcodes(AROUND):
        if group[0][1] > shown:
            yield Run("", [f"… {figures.several(group[0][1] - shown, 'line')} as before"])
        for kind, start, end, new_start, new_end in group:
            if kind == "equal":
                yield Run(" ", old[start:end])
                continue
            if start < end:
                yield Run("-", old[start:end])
            if new_start < new_end:
                yield Run("+", new[new_start:new_end])
        shown = group[-1][2]
    if len(old) > shown:
        yield Run("", [f"… {figures.several(len(old) - shown, 'line')} as before"])


def show_difference(runs: Sequence[Run], console: Console) -> None:
    """Print the runs within the height of the screen: of long runs the first and the last rows."""
    drawn = is_drawn(console)
    most = max(LEAST_ROWS, console.height - OTHER_ROWS) if drawn else PLAIN_ROWS
    wrapped = [_wrapped(run, console) for run in runs]
    sizes = [len(run.lines) for run in wrapped]
    longest = next((size for size in range(most, 3, -1) if sum(min(size, rows) for rows in sizes) <= most), 3)
    left = most
    for place, run in enumerate(wrapped):
        if left < min(longest, sizes[place]):
            changes = sum(run.sign in ("-", "+") for run in wrapped[place:])
            say(console, f"  … {figures.several(changes, 'more change')}", "quiet")
            return
        for words in _ends(run.lines, longest):
            say(console, f"  {run.sign} {words}" if run.sign else f"  {words}", STYLES.get(run.sign, "quiet"))
            left -= 1


def _wrapped(run: Run, console: Console) -> Run:
    """The run with its lines as the console breaks them; what no screen holds is left out of a line."""
    columns = max(1, console.width - 4) if is_drawn(console) else 0
    rows: list[str] = []
    for line in run.lines:
        if not columns or len(line) <= columns:
            rows.append(line)
            continue
        rows += [part.plain for part in Text(line, tab_size=4).wrap(console, columns)]
    return Run(run.sign, rows)


def _ends(rows: Sequence[str], most: int) -> Iterator[str]:
    """The first and the last of the rows, and how many are between them."""
    if len(rows) <= most:
        yield from rows
        return
    first, last = most // 2, most - 1 - most // 2
    yield from rows[:first]
    yield f"… {len(rows) - first - last:,} more"
    yield from rows[len(rows) - last :]
