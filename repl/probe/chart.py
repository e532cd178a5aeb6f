"""The survival chart: a row for each strategy and planted fact, a cell for each call since it was planted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.text import Text

from agent.events import Planted
from agent.replay import calls
from repl import trace
from repl.probe.survival import Survival, cells, strategies, survive, told
from repl.sanitise import line
from repl.theme import is_drawn

if TYPE_CHECKING:
    from repl.session import Session

COLUMNS, LEAST_COLUMNS = 40, 10
"""Cells of a row at most, and on a terminal that is too narrow."""
NAME, WORDS = 24, 40
"""Columns of a strategy's name at most, and of the words behind the cells."""
MARKS = {
    "stands": ("█", "fate.kept", "its words stand in the prompt"),
    "partly": ("▒", "warn", "in some of these calls"),
    "gone": ("·", "quiet", "gone"),
    "over": ("!", "over", "in a prompt over the budget"),
    "refused": ("×", "over", "too large to be sent"),
    "": (" ", "", ""),
}


def chart(session: Session, planted: Sequence[Planted], console: Console) -> None:
    """Replay the session under one strategy after the other; a row appears as soon as it is known.

    Raises:
        KeyboardInterrupt: the user stopped it; what is done stays, and the text says how much that is.
    """
    specs, each, drawn = strategies(session), len(calls(session.agent.history)), is_drawn(console)
    title = (
        f"How long it survives: the session replayed under {len(specs)} strategies that ask no model, "
        f"{each:,} prompts each"
    )
    console.print(Text(title, style="bold" if drawn else ""))
    if session.spec not in specs:
        console.print(Text(f"{line(session.spec)} asks a model, and is left out."))
    done, seen = 0, dict.fromkeys(("stands", "gone"))
    try:
        with _bar(console, len(specs) * each) as tick:
            for spec in specs:
                rows = survive(session, spec, planted, tick)
                for row in rows:
                    console.print(_row(row, rows, console, spec == session.spec))
                    seen |= dict.fromkeys(mark for mark in cells(row.marks, _columns(console)) if mark)
                done += 1
    except KeyboardInterrupt:
        raise KeyboardInterrupt(f"stopped: {done} of {len(specs)} strategies are done") from None
    if drawn:
        signs = [f"{MARKS[mark][0]} {MARKS[mark][2]}" for mark in seen]
        console.print(Text("  " + " · ".join([*signs, "the last call is the next one"]), style="quiet"))


def _row(row: Survival, rows: Sequence[Survival], console: Console, used: bool) -> RenderableType:
    """A fact under a strategy; the rows of several facts have their calls below each other."""
    several = len(rows) > 1
    if not is_drawn(console):
        fact = f", {row.planted.path}" if several else ""
        return Text(f"  {line(row.strategy)}{' (in use)' if used else ''}{fact}: {told(row).replace(' · ', '; ')}")
    from rich.table import Table

    first = row is rows[0]
    name = trace.cut(f"{'›' if used else ' '} {line(row.strategy)}", NAME) if first else ""
    number = row.planted.path.removeprefix("planted-").removesuffix(".txt")
    longest = max(len(one.marks) for one in rows)
    marks = [*[""] * (longest - len(row.marks)), *row.marks]
    bar = Text.assemble(*(MARKS[mark][:2] for mark in cells(marks, _columns(console))))
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=NAME, no_wrap=True)
    if several:
        grid.add_column(width=cell_len(number), no_wrap=True)
    grid.add_column(width=min(longest, _columns(console)), no_wrap=True)
    grid.add_column()
    grid.add_row(Text(name, style="name" if used else ""), *[Text(number, style="quiet")] * several, bar, told(row))
    return grid


def _columns(console: Console) -> int:
    return max(LEAST_COLUMNS, min(COLUMNS, console.width - NAME - WORDS - 4))


@contextmanager
def moving(console: Console, what: str) -> Iterator[None]:
    """Something moves while this goes on, where things may move."""
    if not is_drawn(console):
        yield
        return
    with console.status(Text(f"{what}…", style="quiet")):
        yield


@contextmanager
def _bar(console: Console, calls: int) -> Iterator[Callable[[], None]]:
    """A bar that says how many of the calls are replayed, where things may move; each tick is a call."""
    if not is_drawn(console):
        yield lambda: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TimeRemainingColumn

    with Progress(
        BarColumn(20), MofNCompleteColumn(), TimeRemainingColumn(compact=True), console=console, transient=True
    ) as bar:
        task = bar.add_task("", total=calls)
        yield lambda: bar.advance(task)
