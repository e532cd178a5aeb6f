"""The survival chart: a row for each strategy and planted fact, a cell for each call since it was planted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.text import Text

from agent.errors import Stopped
from agent.events import Planted
from repl.commands.probe.survival import Survival, cells, description, strategies, survive
from repl.screen import trace
from repl.screen.sanitise import line
from repl.screen.theme import is_drawn, say
from session.replay import calls
from session.session import Session

MOST_CELLS, LEAST_CELLS = 40, 10
"""Cells of a row at most, and on a terminal that is too narrow."""
NAME_COLUMNS, WORD_COLUMNS = 24, 36
"""Columns of a strategy's name at most, and of the words after the cells."""
MARKS = {
    "stands": ("█", "fate.kept", "stands in the prompt"),
    "partly": ("▒", "warn", "in some of these calls"),
    "gone": ("·", "quiet", "gone"),
    "over": ("!", "over", "stands in one over the budget"),
    "refused": ("×", "over", "too large to be sent"),
    "": (" ", "", ""),
}


def chart(session: Session, planted: Sequence[Planted], console: Console) -> None:
    """Replay the session under one strategy after the other; a row appears as soon as it is known.

    Raises:
        Stopped: the user pressed Ctrl-C; what is done stays.
    """
    specs, each, drawn = strategies(session), len(calls(session.agent.history)), is_drawn(console)
    names = min(NAME_COLUMNS, max(map(cell_len, specs)) + 2)
    columns = max(LEAST_CELLS, min(MOST_CELLS, console.width - names - WORD_COLUMNS - 4))
    for text in _heading(session, specs):
        say(console, text, "bold")
    done: list[Survival] = []
    try:
        with _bar(console, len(specs) * each) as tick:
            for spec in specs:
                rows = survive(session, spec, planted, tick)
                for row in rows:
                    used = spec == session.spec
                    console.print(_drawn(row, rows, names, columns, used) if drawn else _line(row, used))
                done += rows
    except KeyboardInterrupt:
        raise Stopped(f"stopped: {len(done) // len(planted)} of {len(specs)} strategies are done") from None
    finally:
        if drawn:
            console.print(_legend(done, columns))


def _heading(session: Session, specs: Sequence[str]) -> Iterator[str]:
    yield f"How long it survives, replayed under {len(specs)} strategies that ask no model"
    if session.spec not in specs:
        yield f"{line(session.spec)} asks a model, and is left out"


def _legend(shown: Sequence[Survival], columns: int) -> Text:
    seen = {"stands", "gone"}.union(*(cells(row.marks, columns) for row in shown))
    signs = "   ".join(f"{sign} {meaning}" for mark, (sign, _, meaning) in MARKS.items() if mark in seen)
    return Text(f"  {signs}\n  Calls count from the planting; the last is the next one.", style="quiet")


def _line(row: Survival, used: bool) -> Text:
    name = f"{line(row.strategy)}{' (in use)' if used else ''}, {row.planted.path}"
    return Text(f"  {name}: {description(row).replace(' · ', '; ').replace(' … ', '; later ')}")


def _drawn(row: Survival, rows: Sequence[Survival], names: int, columns: int, used: bool) -> RenderableType:
    """A fact under a strategy. The rows of several facts have their numbers, and their calls below each other."""
    from rich.table import Table

    several, longest = len(rows) > 1, max(len(one.marks) for one in rows)
    name = trace.cut(f"{'›' if used else ' '} {line(row.strategy)}", names) if row is rows[0] else ""
    number = row.planted.path.removeprefix("planted-").removesuffix(".txt")
    marks = [*[""] * (longest - len(row.marks)), *row.marks]
    bar = Text.assemble(*(MARKS[mark][:2] for mark in cells(marks, columns)))
    grid = Table.grid(padding=(0, 1))
    grid.add_column(width=names, no_wrap=True)
    if several:
        grid.add_column(width=len(number), no_wrap=True)
    grid.add_column(width=min(longest, columns), no_wrap=True)
    grid.add_column()
    numbers = [Text(number, style="quiet")] * several
    grid.add_row(Text(name, style="name" if used else ""), *numbers, bar, description(row))
    return grid


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
