"""References: one line of a copy stands for lines above in the view; here is how it finds them and how they differ."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agent import foreign
from agent.messages import Message

HEAD = 32
"""Characters of a line's text by which its place is found."""
LINE = re.compile(
    rf"^(?P<lead>(?: {{0,9}}+[0-9]{{1,7}}+[\t:|-])?+[-+ \t]{{0,40}}+)(?P<head>[^\n]{{0,{HEAD}}})", re.MULTILINE
)
"""A line: what stands before its text (a number, the sign of a diff, blanks), and how its text begins."""
NUMBER = re.compile(r" *[0-9]+")


def parted(line: str) -> tuple[str, str]:
    """The lead of a line, and its head: how its text begins."""
    found = LINE.match(line)
    return (found["lead"], found["head"].rstrip()) if found else ("", "")


@dataclass(frozen=True, slots=True)
class Leads:
    """How the leads of lines here differ from those of the same lines above: "" and "" where they are equal.

    A number goes on by one with each line.
    """

    here: str = ""
    above: str = ""

    @classmethod
    def of(cls, here: str, above: str) -> Leads:
        """The difference between the leads of the first line: ("43", "40") for "43: " and "40: "."""
        while here and above and here[-1] == above[-1] and (here == above or not here[-1].isdigit()):
            here, above = here[:-1], above[:-1]
        return cls(here, above)

    def after(self, lines: int) -> Leads:
        """The difference so many lines further on."""
        if not self.here and not self.above:
            return self
        return Leads(
            *(NUMBER.sub(lambda n: f"{int(n[0]) + lines:>{len(n[0])}}", lead) for lead in (self.here, self.above))
        )

    def moved(self, line: str) -> str:
        """A line above as it stands here."""
        return self.here + line.removeprefix(self.above)


def arguments(message: Message) -> Iterator[str]:
    """The texts in the arguments of the calls."""
    for call in message.calls:
        try:
            yield from _strings(foreign.read(call.arguments))
        except ValueError:
            continue


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _strings(each)
