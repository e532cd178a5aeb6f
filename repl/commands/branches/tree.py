"""/tree: every branch with its own cost, a chart of all prompts, and the switch to another branch."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from agent.budget import Prices
from agent.errors import UsageError
from agent.ledger import Call
from repl.commands.branches.accounts import Account, accounts
from repl.commands.branches.moves import as_it_is
from repl.commands.compare.trial import cost
from repl.commands.stats import SHOWN_CALLS, chart, strategies_of
from repl.screen.sanitise import line
from repl.screen.tables import Table
from repl.screen.theme import is_drawn, say
from repl.screen.trace import cut
from session import figures
from session.session import Session
from session.totals import totals

CHART_ROWS = 3
"""Rows of a branch's chart."""
GUTTER_COLUMNS, NAME_COLUMNS = 10, 20
"""Columns around a chart, and columns for the name of the strategy after it."""
QUESTION_COLUMNS = 60
"""Columns of a question that is quoted."""


def tree(session: Session, text: str, console: Console) -> None:
    """/tree [N]: all branches and what they cost, or go to branch N.

    For each branch its parent, its strategy and its own cost; then the prompts of all calls, call below call. /tree
    2 goes on with branch 2 as you left it.
    """
    if text:
        _go(session, text, console)
        return
    found = accounts(session.journal.tree)
    current = session.journal.tree.current
    names = _names(found, current, is_drawn(console))
    _branches(found, names).show(console)
    console.print()
    _costs(found, names, session.agent.price_card()).show(console)
    if any(map(_answers, found)):
        console.print()
        _show_curves(found, current, console)


def _go(session: Session, text: str, console: Console) -> None:
    there = session.journal.tree.branches
    known = "/tree shows the branches" if len(there) > 1 else "/fork, /undo and /retry begin branches"
    if not re.fullmatch("[0-9]{1,9}", text) or int(text) not in there:
        raise UsageError(f"there is no branch {text[:40]}", known)
    session.switch(int(text))
    agent = session.agent
    is_at = f"{figures.several(agent.ledger.exchanges, 'exchange')}, {figures.several(len(agent.history), 'message')}"
    say(console, f"On branch {int(text)}: {is_at}, {as_it_is(session)}.")


def _names(found: Sequence[Account], current: int, drawn: bool) -> list[Text]:
    """The number of each branch as a tree is drawn, the one in use marked; in words where nothing is drawn."""
    if not drawn:
        return [Text(f"{one.number}{' (in use)' if one.number == current else ''}") for one in found]
    last = {one.parent: one.number for one in found}
    parents = {one.number: one.parent for one in found}
    names = []
    for one in found:
        above, stem = one.parent, ""
        if one.parent:
            stem = "└─ " if last[one.parent] == one.number else "├─ "
        while above and parents[above]:
            stem = ("   " if last[parents[above]] == above else "│  ") + stem
            above = parents[above]
        names.append(Text(f"{stem}{one.number}{' ‹' if one.number == current else ''}"))
    return names


def _branches(found: Sequence[Account], names: Sequence[Text]) -> Table:
    rows = [
        (name, _place(one), _used(one), cut(line(one.question), QUESTION_COLUMNS) or "–")
        for one, name in zip(found, names, strict=True)
    ]
    return Table("The branches", ("branch", "grew from", "strategy", "last question of its own"), rows)


def _used(one: Account) -> str:
    """The strategies of a branch, in order: those of its calls, and the one in use at its end."""
    return " → ".join(dict.fromkeys([*(call.strategy for call in one.calls), one.strategy]))


def _place(one: Account) -> str:
    """Where a branch grew from."""
    if not one.parent:
        return "–"
    return f"{one.parent}, exchange {one.behind}" if one.behind else f"{one.parent}, its start"


def _costs(found: Sequence[Account], names: Sequence[Text], prices: Prices) -> Table:
    rows = [_spent(name, one.exchanges, one.calls, prices) for one, name in zip(found, names, strict=True)]
    together = [call for one in found for call in one.calls]
    rows.append(_spent(Text("together"), sum(one.exchanges for one in found), together, prices))
    columns = ("branch", ">exchanges", ">turns", ">prompt", ">prefill", ">out", ">seconds", ">cost")
    return Table("What each has cost of its own", columns, rows, (len(rows) - 1,))


def _spent(name: Text, exchanges: int, calls: Sequence[Call], prices: Prices) -> Sequence[str | Text]:
    sums = totals(calls)
    amounts = (sums.prompt, sums.prefill, sums.output)
    priced = figures.amount(cost(*amounts, prices))
    return (name, str(exchanges), str(sums.turns), *map(figures.amount, amounts), f"{sums.seconds:.1f}", priced)


def _show_curves(found: Sequence[Account], current: int, console: Console) -> None:
    """Prompt tokens of each call of every branch: one chart below the other, call below call."""
    drawn = is_drawn(console)
    grown = [one for one in found if _answers(one)]
    last = max(one.calls_before + len(_answers(one)) for one in grown)
    columns = min(SHOWN_CALLS, console.width - GUTTER_COLUMNS - NAME_COLUMNS)
    title = "Prompt tokens of each call, call below call"
    if drawn and last > columns:
        title += f": the newest {columns}"
    say(console, title, "bold")
    if not drawn:
        for one in grown:
            _tell(one, current, console)
        return
    step = 2 if 2 * last + GUTTER_COLUMNS + NAME_COLUMNS <= console.width else 1
    top = max(max(call.prompt.tokens or 0, call.limit) for one in grown for call in _answers(one))
    for one in grown:
        if one is not grown[0]:
            console.print()  # or a bar over the budget would touch the bars above it
        _draw(one, current, max(0, last - columns), step, top, console)


def _draw(one: Account, current: int, since: int, step: int, top: int, console: Console) -> None:
    """The chart of a branch, from call `since` of the way to it on; its number stands in the last row."""
    calls = _answers(one)[max(0, since - one.calls_before) :]
    if not calls:
        return
    rows = chart(calls, step, len(calls), high=CHART_ROWS, top=top, lead=max(0, one.calls_before - since))
    name = f"{one.number}{' ‹' if one.number == current else '  '}"
    for row in rows[:-1]:
        console.print(row)
    last = Text(f"{name:>8} ", style="bold" if one.number == current else "")
    last.append_text(rows[-1][GUTTER_COLUMNS - 1 :])
    first = max(one.calls_before, since) + 1
    last.append(f"  {cut(strategies_of(calls, first), console.width - last.cell_len - 3)}", style="quiet")
    console.print(last, no_wrap=True, overflow="crop")


def _tell(one: Account, current: int, console: Console) -> None:
    calls = _answers(one)[-SHOWN_CALLS:]
    first = one.calls_before + len(_answers(one)) - len(calls) + 1
    tokens = ", ".join(figures.amount(call.prompt) for call in calls)
    used = " (in use)" if one.number == current else ""
    say(console, f"  branch {one.number}{used}, budget {calls[-1].limit:,}, from call {first} on: {tokens}")
    say(console, f"    {strategies_of(calls, first)}")


def _answers(one: Account) -> list[Call]:
    return [call for call in one.calls if call.purpose == "answer" and call.prompt.tokens is not None]
