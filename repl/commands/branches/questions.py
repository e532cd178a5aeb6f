"""Asked: the questions of a branch, each with the place right before it, in the lines that led to the branch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from thimble.agent.events import Asked, Planted, Withdrawn
from thimble.session.journal.lines import Line
from thimble.session.journal.records import Branched, Resumed, Switched, Toured

IDLE = (Branched, Switched, Resumed, Toured)
"""Records that change nothing in a session by themselves."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question: its words, and the line of the journal after which it was asked.

    `refused` says that the budget could not hold it, `planted` are the facts that were planted behind it and before the
    next one.
    """

    after: int
    text: str
    refused: bool = False
    planted: tuple[str, ...] = ()


def questions(path: Iterable[Line]) -> list[Question]:
    """The questions of a branch, oldest first: exchange N is at N - 1, as the ledger counts."""
    found: list[Question] = []
    before = 0
    for line in path:
        stored = line.stored
        if isinstance(stored, Asked):
            found.append(Question(before, stored.message.content))
        elif found and isinstance(stored, Withdrawn):
            found[-1] = replace(found[-1], refused=True)
        elif found and isinstance(stored, Planted):
            found[-1] = replace(found[-1], planted=(*found[-1].planted, stored.fact))
        if not isinstance(stored, IDLE):
            before = line.number
    return found
