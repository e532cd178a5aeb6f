"""The branches of a journal. A branch starts after some line of another; nothing of either is ever lost."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import chain

from thimble.agent.events import Changed
from thimble.session.journal.lines import Line
from thimble.session.journal.records import Branched, Named, Opened, Switched, Toured

FIRST_BRANCH = 1


@dataclass
class Branch:
    """Its number, its parent (0 for none) and the parent's line after which it starts, and its own lines."""

    number: int
    parent: int = 0
    after: int = 0
    lines: list[Line] = field(default_factory=list)


class Tree:
    """The branches by number, the current one after the last line, and the session's name.

    `tour` is the tour that the session is on, if any, with its progress. `widest` is the largest budget that any branch
    had, in tokens.
    """

    def __init__(self, lines: Iterable[Line] = ()) -> None:
        self.branches = {FIRST_BRANCH: Branch(FIRST_BRANCH)}
        self.current = FIRST_BRANCH
        self.name = ""
        self.tour = Toured("", 0)
        self.widest = 0
        for line in lines:
            self.add_line(line)

    @property
    def newest(self) -> int:
        """The number of the newest line of the current branch; 0 without lines."""
        return max((line.number for line in self.branches[self.current].lines[-1:]), default=0)

    def path(self, number: int) -> list[Line]:
        """The lines that lead to the present state of a branch, from the first line on."""
        branch, last = self.branches[number], math.inf
        parts: list[list[Line]] = []
        while True:
            parts.append([line for line in branch.lines if line.number <= last])
            if not branch.parent:
                return list(chain.from_iterable(reversed(parts)))
            branch, last = self.branches[branch.parent], min(last, branch.after)

    def add_line(self, line: Line) -> None:
        """Add a line."""
        match line.record:
            case Branched(number, after) if number > FIRST_BRANCH and number not in self.branches:
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
        """The branch with line `after`, among the current branch and its ancestors."""
        branch = self.branches[self.current]
        while branch.parent and after <= branch.after:
            branch = self.branches[branch.parent]
        return branch.number
