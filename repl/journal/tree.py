"""The branches of a journal. A branch begins behind some line of another; nothing of either is ever lost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from repl.journal.lines import Line
from repl.journal.records import Branched, Switched

TRUNK = 1


@dataclass
class Branch:
    """Its number, the branch that it grew from (0 for none) behind which line of it, and the lines of its own."""

    number: int
    parent: int = 0
    after: int = 0
    lines: list[Line] = field(default_factory=list)


class Tree:
    """The branches by number, and the one that a session is on behind the last line."""

    def __init__(self, lines: Iterable[Line] = ()) -> None:
        self.branches = {TRUNK: Branch(TRUNK)}
        self.current = TRUNK
        for line in lines:
            self.take(line)

    def path(self, number: int) -> list[Line]:
        """The lines that led to where a branch is now, from the first line on."""
        branch = self.branches[number]
        parts = [branch.lines]
        while branch.parent:
            after, branch = branch.after, self.branches[branch.parent]
            parts.append([line for line in branch.lines if line.number <= after])
        return [line for part in reversed(parts) for line in part]

    def take(self, line: Line) -> None:
        """Grow by one line."""
        match line.stored:
            case Branched(number, after) if number not in self.branches:
                self.branches[number] = Branch(number, self._at(after), after)
                self.current = number
            case Switched(number) if number in self.branches:
                self.current = number
        self.branches[self.current].lines.append(line)

    def _at(self, after: int) -> int:
        """The branch that a line belongs to, or the nearest line before it that could be read."""
        before = (line.number for branch in self.branches.values() for line in branch.lines if line.number <= after)
        nearest = max(before, default=0)
        grown = self.branches.values()
        return next((one.number for one in grown if any(line.number == nearest for line in one.lines)), TRUNK)
