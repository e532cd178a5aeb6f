"""Survival: the calls whose prompts hold the words of planted facts, under one strategy after another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from thimble.agent.events import Planted
from thimble.agent.fates import Fate
from thimble.agent.view import View
from thimble.commands.replay import call_lengths, replay_agent
from thimble.corpus.fact_match import quotes_fact
from thimble.repl.commands.compare.each import under_each
from thimble.repl.screen.sanitise import one_line
from thimble.repl.screen.tables import Table
from thimble.repl.screen.theme import in_use, is_drawn, say
from thimble.session.session import Session

Mark = Literal["stands", "gone", "over", "refused"]
"""A fact in one call. `over`: in a prompt over the budget. `refused`: the budget cannot hold the call."""


@dataclass
class Survival:
    """A planted fact under one strategy: a mark for each call since it was planted, the last for the next call.

    `changes`: the calls, counted from 1, at which the fate of its message changed, with the new fate.
    """

    strategy: str
    planted: Planted
    marks: list[Mark] = field(default_factory=list)
    changes: list[tuple[int, Fate]] = field(default_factory=list)

    @property
    def stood(self) -> int:
        """The number of calls whose prompts hold its words."""
        return sum(mark in ("stands", "over") for mark in self.marks)

    def take(self, view: View | None, quotes: Callable[[str, str], bool]) -> None:
        """Add the mark of one more call."""
        if view is None:
            self.marks.append("refused")
            return
        fate = next(fate for message, fate in view.fated if message.id == self.planted.holder.id)
        there = fate == "kept" or any(quotes(one.content, self.planted.fact) for one in view.messages)
        self.marks.append("gone" if not there else "over" if view.tokens > view.limit else "stands")
        if fate != (self.changes[-1][1] if self.changes else "kept"):
            self.changes.append((len(self.marks), fate))


MARK_CELLS = {
    "stands": ("█", "fate.kept", "in the prompt"),
    "partly": ("▒", "warn", "in some of these calls"),
    "gone": ("·", "quiet", "gone"),
    "over": ("!", "over", "in a prompt over the budget"),
    "refused": ("×", "over", "too large to send"),
}
"""The symbol of a mark, its style, and its meaning."""


def show_survival(session: Session, planted: Sequence[Planted], console: Console) -> None:
    """Replay the session under each strategy, and print in which calls each fact survives.

    Raises:
        Stopped: the user pressed Ctrl-C; the finished rows are printed.
    """
    specs, found = strategies(session), list[Survival]()
    try:
        under_each(specs, lambda spec: found.extend(measure_survival(session, spec, planted)), console, "replaying")
    finally:
        table(session, specs, found, console)


def table(session: Session, specs: Sequence[str], found: Sequence[Survival], console: Console) -> None:
    """Print a row for each strategy and fact: a cell for each call since it was planted, and the same in words."""
    drawn, several = is_drawn(console), len({one.planted.path for one in found}) > 1
    names = [f"{one_line(one.strategy)}{in_use(console, one.strategy == session.spec)}" for one in found]
    columns = max(10, min(40, console.width - max(map(cell_len, names), default=0) - 44))
    rows: list[list[str | Text]] = []
    for one, name in zip(found, names, strict=True):
        bar = Text.assemble(*(MARK_CELLS[mark][:2] for mark in draw_marks(one.marks, columns)))
        rows.append([name, *[one.planted.path] * several, *[bar] * drawn, description(one)])
    left_out = "" if session.spec in specs else f"; {one_line(session.spec)} asks a model and is left out"
    title = f"How long it survives, replayed under {len(specs)} strategies that do not ask a model{left_out}"
    Table(title, ["strategy", *["fact"] * several, *[">calls since then"] * drawn, "survives in"], rows).show(console)
    if drawn:
        met = {"stands", "gone"}.union(*(draw_marks(one.marks, columns) for one in found))
        signs = "   ".join(f"{sign} {meaning}" for mark, (sign, _, meaning) in MARK_CELLS.items() if mark in met)
        say(console, f"  {signs}\n  Calls are counted since /plant; the last is the next call.", "quiet")


def strategies(session: Session) -> list[str]:
    """The SPECs to compare: the one in use, then every strategy with its defaults; none that asks a model."""
    from thimble.strategies.table import list_without_model

    agent = session.agent
    parts = getattr(agent.strategy, "parts", (agent.strategy,))
    used = [] if any(getattr(part, "model", None) for part in parts) else [session.spec]
    return list(dict.fromkeys([*used, *list_without_model()]))


def measure_survival(session: Session, spec: str, planted: Sequence[Planted]) -> list[Survival]:
    """The survival of each fact under a strategy, as if it had been in use from the start.

    The session does not change.
    """
    fork = session.fork(spec)
    found, known = [Survival(spec, one) for one in planted], cache(quotes_fact)
    for until, call in zip(call_lengths(fork.history), replay_agent(fork), strict=True):
        for one in found:
            if until > fork.history.index(one.planted.messages[-1]):
                one.take(call.view, known)
    return found


def description(survival: Survival) -> str:
    """`7 of 14 calls · masked at call 8`: the calls that hold the fact, and the changes of its message's fate."""
    marks, changes = survival.marks, survival.changes
    parts = [f"{survival.stood} of {len(marks)} call{'s' * (len(marks) > 1)}"]
    parts += [f"{marks.count('over')} over the budget"] * ("over" in marks)
    parts += [f"{marks.count('refused')} too large to send"] * ("refused" in marks)
    met = [f"{'back' if fate == 'kept' else fate} at call {number}" for number, fate in changes]
    parts += met if len(met) < 3 else [f"{met[0]} … {met[-1]}"]
    if changes and changes[-1][1] != "kept" and marks[-1] in ("stands", "over"):
        parts.append("quoted elsewhere")
    return " · ".join(parts)


def draw_marks(marks: Sequence[str], columns: int) -> Iterator[str]:
    """One mark per cell, at most `columns` cells; a cell for several calls is `partly` if they differ."""
    shown = min(len(marks), columns)
    for cell in range(shown):
        group = set(marks[cell * len(marks) // shown : (cell + 1) * len(marks) // shown])
        yield group.pop() if len(group) == 1 else "partly"
