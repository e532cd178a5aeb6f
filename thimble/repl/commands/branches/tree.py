"""/tree: list every branch with its own cost, or switch to another branch.

Calls that two branches share count for the branch that made them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from thimble.agent.budget import Prices
from thimble.agent.errors import UsageError
from thimble.agent.events import Asked
from thimble.agent.ledger import Call
from thimble.repl.commands.branches.moves import describe_next_prompt
from thimble.repl.commands.command import command
from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.tables import Table
from thimble.repl.screen.theme import in_use, is_drawn, say
from thimble.repl.screen.trace import cut_line
from thimble.session import figures
from thimble.session.journal.state import SavedState
from thimble.session.journal.tree import FIRST_BRANCH, Tree
from thimble.session.session import Session
from thimble.session.story import iter_records
from thimble.session.totals import add_up, price_sums
from thimble.tools.wording import count_noun


@dataclass(frozen=True, slots=True)
class BranchAccount:
    """A branch: its parent, its strategy, and the calls that belong to it alone.

    `behind`: the exchange of the parent after which it starts. `question`: the last one of the branch itself, or "".
    `stem`: the lines drawn before its number in a tree.
    """

    number: int
    parent: int
    behind: int
    strategy: str
    calls: Sequence[Call]
    question: str
    stem: str


@command("tree [N]", "Branches")
def tree(session: Session, text: str, console: Console) -> None:
    """List the branches and their costs, or go to branch N.

    Shows each branch with its parent, its strategy and its own cost. /tree 2 continues branch 2 as you left it.
    """
    if text:
        _go(session, text, console)
        return
    found = make_accounts(session.journal.tree)
    current = session.journal.tree.current
    drawn = is_drawn(console)
    names = [f"{one.stem * drawn}{one.number}{in_use(console, one.number == current)}" for one in found]
    table(found, names, session.agent.price_card()).show(console)


def _go(session: Session, text: str, console: Console) -> None:
    there = session.journal.tree.branches
    known = "/tree shows the branches" if len(there) > 1 else "/fork, /undo and /retry start branches"
    if not re.fullmatch("[0-9]{1,9}", text) or int(text) not in there:
        raise UsageError(f"there is no branch {text[:40]}", known)
    session.switch(int(text))
    agent = session.agent
    is_at = f"{count_noun(agent.ledger.exchanges, 'exchange')}, {count_noun(len(agent.history), 'message')}"
    say(console, f"On branch {int(text)}: {is_at}, {describe_next_prompt(session)}.")


def table(found: Sequence[BranchAccount], names: Sequence[str], prices: Prices) -> Table:
    """The own cost of each branch, its parent, its strategies and its last question."""
    rows: list[Sequence[str | Text]] = [
        (
            Text(name),
            *_cost_cells(one.calls, prices),
            f"{_place(one)}{one_line(_strategies_used(one))}\n{cut_line(one_line(one.question), 60) or '–'}",
        )
        for one, name in zip(found, names, strict=True)
    ]
    rows.append((Text("total"), *_cost_cells([call for one in found for call in one.calls], prices), ""))
    columns = ("branch", ">turns", ">prompt", ">prefill", ">out", ">cost", "strategy, last question")
    return Table("The branches, each with its own cost", columns, rows, bold=-1)


def _strategies_used(one: BranchAccount) -> str:
    """The strategies of a branch, in order: those of its calls, and the one in use at its end."""
    return " → ".join(dict.fromkeys([*(call.strategy for call in one.calls), one.strategy]))


def _place(one: BranchAccount) -> str:
    """The point of the parent at which a branch starts."""
    if not one.parent:
        return ""
    return f"from {one.parent}, {f'exchange {one.behind}' if one.behind else 'its start'}: "


def _cost_cells(calls: Sequence[Call], prices: Prices) -> Sequence[str]:
    sums = add_up(calls)
    amounts = (figures.format_short(one.tokens, one.exact) for one in (sums.prompt, sums.prefill, sums.output))
    costs = price_sums(sums, prices)
    return (str(sums.turns), *amounts, figures.format_short(costs.tokens, costs.exact))


def make_accounts(tree: Tree) -> list[BranchAccount]:
    """An account for each branch: a parent before its children, children by age, each followed by its own children.

    Each branch starts from a copy of its parent's state at that line, so each line is read once.
    """
    found: list[BranchAccount] = []
    waiting = [(tree.branches[FIRST_BRANCH], SavedState(), "", "")]
    while waiting:
        branch, state, stem, below = waiting.pop()
        behind, before, question = state.ledger.exchanges, len(state.ledger.calls), ""
        children = [one for one in tree.branches.values() if one.parent == branch.number]
        starts: dict[int, SavedState] = {}
        forks = sorted(children, key=lambda child: child.after)
        for number, _, record, _ in iter_records(branch.lines):
            while forks and forks[0].after < number:
                starts[forks.pop(0).number] = state.branch()
            state.apply_record(record)
            question = record.message.content if isinstance(record, Asked) else question
        calls = state.ledger.calls[before:]
        found.append(BranchAccount(branch.number, branch.parent, behind, state.strategy, calls, question, stem))
        ends = "└─ ", "   "
        for child in reversed(children):
            start = starts.get(child.number) or state.branch()
            waiting.append((child, start, below + ends[0], below + ends[1]))
            ends = "├─ ", "│  "
    return found
