"""The difference between a message and what is sent of it: the lines that went, those that came, a few around them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from rich.console import Console
from rich.text import Text

from repl.screen.sanitise import clean
from repl.screen.theme import is_drawn, say
from session import figures

AROUND = 2
"""Lines that are shown before and after what changed."""
MOST_LINES = 10_000
"""The lines of a text that are compared: to compare more would take seconds."""
LEAST_ROWS, PLAIN_ROWS = 12, 32
"""Rows that are shown at least on a low screen, and at most where there is no screen."""
OTHER_ROWS = 11
"""Rows of a screen that the lines around the difference and the prompt take."""
LEAST_CUT, LEAST_GONE = 3, 5
"""Rows of a long run that are shown at least: of one that is sent, and of one that is not, if there is room."""
STYLES = {"-": "fate.dropped", "+": "calm", " ": "quiet"}
CHANGES = ("-", "+")
HEADING = re.compile(r"(?:[^|]*, )?\d+ rows(?: by key)?: ")
"""How the table of a list begins: its rows mean nothing without it."""
HEADED = 2
"""Rows of a table that are shown with its heading."""


@dataclass(frozen=True, slots=True)
class Run:
    """Lines in a row of one kind: `-` is not sent, `+` is sent in their place, a blank stays; "" stands for a gap.

    The first `stay` of them are shown where any are.
    """

    sign: str
    lines: Sequence[str]
    stay: int = 0


@dataclass(frozen=True, slots=True)
class Difference:
    """The runs of lines in which two texts differ, with a few around; and the lines of which that cannot be seen."""

    runs: Sequence[Run] = ()
    unseen: int = 0

    def __bool__(self) -> bool:
        return bool(self.runs or self.unseen)


def difference(before: str, after: str) -> Difference:
    """How two texts differ; nothing if they have no line in common. Blanks at the end of a line are not looked at."""
    was, is_now = (text.splitlines() for text in (before, after))
    old, new = ([clean(line).rstrip() for line in lines] for lines in (was, is_now))
    if max(len(old), len(new)) > MOST_LINES:
        return Difference()
    matcher = SequenceMatcher(None, old, new)
    same = [(a + at, b + at) for a, b, size in matcher.get_matching_blocks() for at in range(size)]
    if not any(old[at] for at, _ in same):
        return Difference()
    return Difference([*_runs(old, new, matcher)], sum(was[at] != is_now[to] for at, to in same))


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
                lines = new[new_start:new_end]
                heading = next((at for at, text in enumerate(lines) if HEADING.match(text)), None)
                yield Run("+", lines, 0 if heading is None else heading + 1 + HEADED)
        shown = group[-1][2]
    if shown and len(old) > shown:
        yield Run("", [f"… {figures.several(len(old) - shown, 'line')} as before"])


def show_difference(found: Difference, console: Console, whole: bool = False) -> bool:
    """Print the runs within the height of the screen: of long runs the first and the last rows; whether all is shown.

    What is sent has room before what is not. All is shown if `whole`.
    """
    drawn = is_drawn(console)
    most = max(LEAST_ROWS, console.height - OTHER_ROWS) if drawn else PLAIN_ROWS
    wrapped = [_wrapped(run, console) for run in found.runs]
    rows = sum(len(run.lines) for run in wrapped)
    longest = _longest(wrapped, rows if whole else most)
    after = len(wrapped) - max((place for place, run in enumerate(wrapped, 1) if run.sign in CHANGES), default=0)
    left, cut = rows if whole else most, False
    left -= sum(min(len(run.lines), longest[run.sign]) for run in wrapped[len(wrapped) - after :])
    for place, run in enumerate(wrapped):
        shown = [*_ends(run, longest[run.sign])]
        changes = sum(later.sign in CHANGES for later in wrapped[place:])
        if changes and len(shown) > left:
            say(console, f"  … {figures.several(changes, 'more change')}", "quiet")
            cut = True
            break
        for words in shown:
            say(console, f"  {run.sign} {words}" if run.sign else f"  {words}", STYLES.get(run.sign, "quiet"))
        left -= len(shown)
        cut = cut or len(run.lines) > longest[run.sign]
    if found.unseen:
        lines = f"{figures.several(found.unseen, 'line')} differ{'s' if found.unseen == 1 else ''}"
        say(console, f"  {lines} only in control sequences or in blanks at the end", "quiet")
    return not cut


def _longest(runs: Sequence[Run], most: int) -> dict[str, int]:
    """How many rows of a run are shown, by its sign, so that all runs together have at most so many, if they can."""

    def fits(sent: int, gone: int) -> bool:
        return sum(min(len(run.lines), gone if run.sign == "-" else sent) for run in runs) <= most

    gone = LEAST_GONE if fits(LEAST_CUT, LEAST_GONE) else LEAST_CUT
    sent = next((size for size in range(most, LEAST_CUT, -1) if fits(size, gone)), LEAST_CUT)
    gone = next((size for size in range(most, gone, -1) if fits(sent, size)), gone)
    return {"-": gone, "+": sent, " ": sent, "": sent}


def _wrapped(run: Run, console: Console) -> Run:
    """The run with its lines as the console breaks them; what no screen holds is left out of a line."""
    columns = max(1, console.width - 4) if is_drawn(console) else 0
    rows: list[str] = []
    stay = 0
    for at, line in enumerate(run.lines):
        if not columns or len(line) <= columns:
            rows.append(line)
        else:
            rows += [part.plain for part in Text(line, tab_size=4).wrap(console, columns)]
        stay = len(rows) if at < run.stay else stay
    return Run(run.sign, rows, stay)


def _ends(run: Run, most: int) -> Iterator[str]:
    """The first and the last of the rows, and how many are between them."""
    rows = run.lines
    if len(rows) <= most:
        yield from rows
        return
    first = max(most // 2, min(run.stay, most - 2))
    last = most - 1 - first
    yield from rows[:first]
    yield f"… {len(rows) - first - last:,} more"
    yield from rows[len(rows) - last :]
