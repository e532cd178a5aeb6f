"""The branches of a journal. A branch begins behind some line of another; nothing of either is ever lost."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain

from thimble.agent.events import Changed
from thimble.session.journal.lines import Line
from thimble.session.journal.records import Branched, Named, Opened, Switched, Toured

TRUNK = 1


@dataclass
class Branch:
    """Its number, the branch that it grew from (0 for none) behind which line of it, and the lines of its own."""

    number: int
    parent: int = 0
    after: int = 0
    lines: list[Line] = field(default_factory=list)


class Tree:
    """The branches by number, the one that a session is on behind the last line, and what the session is called.

    `tour` is the tour that it is on, if any, with the steps behind it. `widest` is the largest budget that
    any branch had, in tokens.
    """

    def __init__(self, lines: Iterable[Line] = ()) -> None:
        self.branches = {TRUNK: Branch(TRUNK)}
        self.current = TRUNK
        self.name = ""
        self.tour = Toured("", 0)
        self.widest = 0
        for line in lines:
            self.take(line)

    @property
    def newest(self) -> int:
        """The number of the newest line of the branch in use; 0 before there was any."""
        return max((line.number for line in self.branches[self.current].lines[-1:]), default=0)

    def path(self, number: int) -> list[Line]:
        """The lines that led to where a branch is now, from the first line on."""
        branch, last = self.branches[number], math.inf
        parts: list[list[Line]] = []
        while True:
            parts.append([line for line in branch.lines if line.number <= last])
            if not branch.parent:
                return list(chain.from_iterable(reversed(parts)))
            branch, last = self.branches[branch.parent], min(last, branch.after)

    def take(self, line: Line) -> None:
        """Grow by one line."""
        match line.record:
            case Branched(number, after) if number > TRUNK and number not in self.branches:
                self.branches[number] = Branch(number, self._before(after), after)
                self.current = number
            case Switched(number) if number in self.branches:
                self.current = number
            case Named(name):
                self.name = name
            case Toured() as toured:
                self.tour = toured
            case Opened() | Changed() as record:
                changes = record.changes if isinstance(record, Opened) else [record]
                budgets = (int(change.value) for change in changes if change.setting == "budget")
                self.widest = max(self.widest, *budgets, 0)
        self.branches[self.current].lines.append(line)

    def _before(self, after: int) -> int:
        """The branch of the lines that led to here which line `after` belongs to."""
        branch = self.branches[self.current]
        while branch.parent and after <= branch.after:
            branch = self.branches[branch.parent]
        return branch.number
