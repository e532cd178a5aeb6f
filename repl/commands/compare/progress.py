"""Progress: a bar a strategy while it is compared, wiped at the end; where nothing is drawn, a line a strategy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

from rich.console import Console

from repl.screen.sanitise import line
from repl.screen.theme import is_drawn, say
from repl.screen.trace import cut

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

NAME_COLUMNS = 30
SAID_COLUMNS = 34


class Progress(Protocol):
    """Shows the progress of each strategy, by its place among them."""

    def say(self, place: int, said: str, step: bool = False) -> None:
        """Show the step under way; `step` says that one more is done."""

    def done(self, place: int, said: str) -> None:
        """The strategy is done, with this."""


@contextmanager
def progress(console: Console, names: Sequence[str], steps: int) -> Iterator[Progress]:
    """Shows how far each of these strategies is in at most so many steps."""
    if not is_drawn(console):
        yield _Lines(console, names)
        return
    from rich.progress import BarColumn, TextColumn
    from rich.progress import Progress as Bars

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(12),
        TextColumn("{task.fields[said]}", markup=False),
    )
    with Bars(*columns, console=console, transient=True) as bars:
        for name in names:
            bars.add_task(cut(line(name), NAME_COLUMNS), total=steps, said="")
        yield _Drawn(bars)


class _Drawn:
    def __init__(self, bars: Bars) -> None:
        self._bars = bars

    def say(self, place: int, said: str, step: bool = False) -> None:
        self._bars.update(self._bars.task_ids[place], advance=int(step), said=cut(line(said), SAID_COLUMNS))

    def done(self, place: int, said: str) -> None:
        task = self._bars.task_ids[place]
        self._bars.update(task, completed=self._bars.tasks[place].total)
        self.say(place, said)


class _Lines:
    def __init__(self, console: Console, names: Sequence[str]) -> None:
        self._console, self._names = console, names

    def say(self, place: int, said: str, step: bool = False) -> None:
        """Prints a line for each finished strategy only."""

    def done(self, place: int, said: str) -> None:
        of = f"done {place + 1} of {len(self._names)}"
        say(self._console, f"{of}: {line(self._names[place])}: {line(said)}")
