"""The cost of each branch on its own. A part that two branches share counts for the branch where it began."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from thimble.agent.events import Asked
from thimble.agent.ledger import Call
from thimble.session.journal.state import SavedState
from thimble.session.journal.tree import Tree


@dataclass(frozen=True, slots=True)
class BranchAccount:
    """A branch: its parent, its strategy, and the exchanges and calls that belong to it alone.

    `behind`: it begins after this exchange of the parent. `question`: the last one of the branch itself, "" if there is
    none. `stem`: what stands before it where the branches are drawn as a tree.
    """

    number: int
    parent: int
    behind: int
    strategy: str
    exchanges: int
    calls: Sequence[Call]
    question: str
    stem: str = ""


def accounts(tree: Tree) -> list[BranchAccount]:
    """An account for each branch: a parent before its children, children by age, each followed by its own children."""
    found = [_account(tree, number) for number in tree.branches]
    ordered: list[BranchAccount] = []
    waiting = [(one, "", "") for one in reversed(found) if not one.parent]
    while waiting:
        one, stem, below = waiting.pop()
        ordered.append(replace(one, stem=stem))
        ends = "└─ ", "   "
        for child in reversed([child for child in found if child.parent == one.number]):
            waiting.append((child, below + ends[0], below + ends[1]))
            ends = "├─ ", "│  "
    return ordered


def _account(tree: Tree, number: int) -> BranchAccount:
    branch, state = tree.branches[number], SavedState()
    own = {line.number for line in branch.lines}
    behind, before, question = 0, 0, ""
    for line in tree.path(number):
        state.read(line, whole=False)
        if line.number not in own:
            behind, before = state.ledger.exchanges, len(state.ledger.calls)
        elif isinstance(line.record, Asked):
            question = line.record.message.content
    calls, exchanges = state.ledger.calls[before:], state.ledger.exchanges - behind
    return BranchAccount(number, branch.parent, behind, state.strategy, exchanges, calls, question)
