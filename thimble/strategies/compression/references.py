"""References: a line of a copy that replaces lines shown above in the view; how to find those, and how they differ."""

from __future__ import annotations

import re
from dataclasses import dataclass

HEAD_LETTERS = 32
"""Characters of a line's text by which the line is found."""
LEAD_AND_HEAD = re.compile(
    rf"^(?P<lead>(?: {{0,9}}+[0-9]{{1,7}}+[\t:|-])?+[-+ \t]{{0,40}}+)(?P<head>[^\n]{{0,{HEAD_LETTERS}}})", re.MULTILINE
)
"""A line: its lead, before its text (a number, the mark of a diff, blanks), and its head, the start of its text."""
LEAD_NUMBER = re.compile(r" *[0-9]+")


def split_lead(line: str) -> tuple[str, str]:
    """The lead of a line, and its head: the start of its text."""
    found = LEAD_AND_HEAD.match(line)
    return (found["lead"], found["head"].rstrip()) if found else ("", "")


@dataclass(frozen=True, slots=True)
class LineLeads:
    """The leads of a line here and of the same line above, as far as they differ: ("43", "40") for numbers.

    A number increases by one with each line.
    """

    here: str
    above: str

    @classmethod
    def of(cls, here: str, above: str) -> LineLeads:
        """The differing parts of the leads of the first line; a number is not cut in two."""
        while here and above and here[-1] == above[-1] and (here == above or not here[-1].isdigit()):
            here, above = here[:-1], above[:-1]
        return cls(here, above)

    def after(self, lines: int) -> LineLeads:
        """The differing parts `lines` lines further down."""
        if self.here == self.above:
            return self
        return LineLeads(_count_up(self.here, lines), _count_up(self.above, lines))

    def moved(self, line: str) -> str:
        """The line above with the lead that it has here."""
        return self.here + line.removeprefix(self.above)


def _count_up(lead: str, lines: int) -> str:
    return LEAD_NUMBER.sub(lambda number: f"{int(number[0]) + lines:>{len(number[0])}}", lead)
