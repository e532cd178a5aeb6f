"""Survival: how long the words of planted facts stand in what the model is sent, under one strategy after another."""

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
from thimble.commands.replay import calls, replay_agent
from thimble.corpus.fact_match import quotes
from thimble.repl.commands.compare.each import under_each
from thimble.repl.screen.sanitise import line
from thimble.repl.screen.tables import Table
from thimble.repl.screen.theme import in_use, is_drawn, say
from thimble.session.session import Session

Mark = Literal["stands", "gone", "over", "refused"]
"""Of a fact in one call. `over`: it stands in a prompt over the budget. `refused`: the call cannot be held."""


@dataclass
class Survival:
    """A planted fact under one strategy: for each call since it was planted, the next one's last, a mark.

    `changes` say at which of these calls, counted from 1, the message that held it met another fate than before.
    """

    strategy: str
    planted: Planted
    marks: list[Mark] = field(default_factory=list)
    changes: list[tuple[int, Fate]] = field(default_factory=list)

    @property
    def stood(self) -> int:
        """In how many calls its words stand."""
        return sum(mark in ("stands", "over") for mark in self.marks)

    def take(self, view: View | None, quotes: Callable[[str, str], bool]) -> None:
        """The state of the fact in the next call."""
        if view is None:
            self.marks.append("refused")
            return
        fate = next(fate for message, fate in view.fated if message.id == self.planted.holder.id)
        there = fate == "kept" or any(quotes(one.content, self.planted.fact) for one in view.messages)
        self.marks.append("gone" if not there else "over" if view.tokens > view.limit else "stands")
        if fate != (self.changes[-1][1] if self.changes else "kept"):
            self.changes.append((len(self.marks), fate))


MARK_CELLS = {
    "stands": ("█", "fate.kept", "stands in the prompt"),
    "partly": ("▒", "warn", "in some of these calls"),
    "gone": ("·", "quiet", "gone"),
    "over": ("!", "over", "stands in one over the budget"),
    "refused": ("×", "over", "too large to be sent"),
}
"""The sign of a mark, its style, and its meaning."""


def show_survival(session: Session, planted: Sequence[Planted], console: Console) -> None:
    """Replay the session under each strategy, and print for each fact in which calls it stands.

    Raises:
        Stopped: the user pressed Ctrl-C; what is done is printed.
    """
    specs, found = strategies(session), list[Survival]()
    try:
        under_each(specs, lambda spec: found.extend(survive(session, spec, planted)), console, "replaying")
    finally:
        table(session, specs, found, console)


def table(session: Session, specs: Sequence[str], found: Sequence[Survival], console: Console) -> None:
    """Print a row for each strategy and fact: a cell for each call since it was planted, and the same in words."""
    drawn, several = is_drawn(console), len({one.planted.path for one in found}) > 1
    names = [f"{line(one.strategy)}{in_use(console, one.strategy == session.spec)}" for one in found]
    columns = max(10, min(40, console.width - max(map(cell_len, names), default=0) - 44))
    rows: list[list[str | Text]] = []
    for one, name in zip(found, names, strict=True):
        bar = Text.assemble(*(MARK_CELLS[mark][:2] for mark in cells(one.marks, columns)))
        rows.append([name, *[one.planted.path] * several, *[bar] * drawn, description(one)])
    left_out = "" if session.spec in specs else f"; {line(session.spec)} asks a model, and is left out"
    title = f"How long it survives, replayed under {len(specs)} strategies that ask no model{left_out}"
    Table(title, ["strategy", *["fact"] * several, *[">calls since then"] * drawn, "stands in"], rows).show(console)
    if drawn:
        met = {"stands", "gone"}.union(*(cells(one.marks, columns) for one in found))
        signs = "   ".join(f"{sign} {meaning}" for mark, (sign, _, meaning) in MARK_CELLS.items() if mark in met)
        say(console, f"  {signs}\n  Calls count from the planting; the last is the next one.", "quiet")


def strategies(session: Session) -> list[str]:
    """The SPECs to compare: the one in use first, then every strategy as it is by default; none that asks a model."""
    from thimble.strategies.table import without_a_model

    agent = session.agent
    parts = getattr(agent.strategy, "parts", (agent.strategy,))
    used = [] if any(getattr(part, "model", None) for part in parts) else [session.spec]
    return list(dict.fromkeys([*used, *without_a_model()]))


def survive(session: Session, spec: str, planted: Sequence[Planted]) -> list[Survival]:
    """How long each of these facts survives under a strategy, had it been in use from the start.

    Nothing of the session changes.
    """
    fork = session.fork(spec)
    found, known = [Survival(spec, one) for one in planted], cache(quotes)
    for until, call in zip(calls(fork.history), replay_agent(fork), strict=True):
        for one in found:
            if until > fork.history.index(one.planted.messages[-1]):
                one.take(call.view, known)
    return found


def description(survival: Survival) -> str:
    """`7 of 14 calls · masked at call 8`: in how many calls it stands, and what became of the message that held it."""
    marks, changes = survival.marks, survival.changes
    parts = [f"{survival.stood} of {len(marks)} call{'s' * (len(marks) > 1)}"]
    parts += [f"{marks.count('over')} over the budget"] * ("over" in marks)
    parts += [f"{marks.count('refused')} too large to send"] * ("refused" in marks)
    met = [f"{'back' if fate == 'kept' else fate} at call {number}" for number, fate in changes]
    parts += met if len(met) < 3 else [f"{met[0]} … {met[-1]}"]
    if changes and changes[-1][1] != "kept" and marks[-1] in ("stands", "over"):
        parts.append("quoted elsewhere")
    return " · ".join(parts)


def cells(marks: Sequence[str], columns: int) -> Iterator[str]:
    """One mark a cell, at most so many cells; one for several calls is `partly` where they differ."""
    shown = min(len(marks), columns)
    for cell in range(shown):
        group = set(marks[cell * len(marks) // shown : (cell + 1) * len(marks) // shown])
        yield group.pop() if len(group) == 1 else "partly"
