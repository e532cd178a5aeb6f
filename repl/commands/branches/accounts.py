"""The cost of each branch on its own. A part that two branches share counts for the branch where it began."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from agent.events import Asked
from agent.ledger import Call
from session.journal.state import SavedState
from session.journal.tree import Tree


@dataclass(frozen=True, slots=True)
class Account:
    """A branch: its parent, its strategy, and the exchanges and calls that belong to it alone.

    `behind`: it begins after this exchange of the parent. `calls_before`: answers of a model up to there.
    `question`: the last one of the branch itself, "" if there is none.
    """

    number: int
    parent: int
    behind: int
    calls_before: int
    strategy: str
    exchanges: int
    calls: Sequence[Call]
    question: str


def accounts(tree: Tree) -> list[Account]:
    """An account for each branch: a parent before its children, children by age, each followed by its own children."""
    starts: dict[int, SavedState] = {}
    found = {number: _account(tree, number, starts) for number in tree.branches}
    ordered: list[Account] = []
    waiting = [one for one in reversed(found.values()) if not one.parent]
    while waiting:
        ordered.append(waiting.pop())
        waiting += [one for one in reversed(found.values()) if one.parent == ordered[-1].number]
    return ordered


def _account(tree: Tree, number: int, starts: dict[int, SavedState]) -> Account:
    """Go through the lines of a branch's own; what stood where others grow from them is left in `starts`."""
    branch, then = tree.branches[number], starts.pop(number, SavedState())
    behind, before, question = then.ledger.exchanges, len(then.ledger.calls), ""
    answers = sum(call.purpose == "answer" for call in then.ledger.calls)
    children = sorted((one for one in tree.branches.values() if one.parent == number), key=lambda one: one.after)
    for line in branch.lines:
        while children and children[0].after < line.number:
            starts[children.pop(0).number] = _copy(then)
        then.read(line, whole=False)
        question = line.stored.message.content if isinstance(line.stored, Asked) else question
    starts.update((child.number, _copy(then)) for child in children)
    ledger = then.ledger
    calls, exchanges = ledger.calls[before:], ledger.exchanges - behind
    return Account(number, branch.parent, behind, answers, then.strategy, exchanges, calls, question)


def _copy(past: SavedState) -> SavedState:
    """An independent copy of the account, without its messages."""
    ledger = replace(past.ledger, calls=[*past.ledger.calls])
    return replace(past, history=[], planted=(), lost=[], ledger=ledger)
