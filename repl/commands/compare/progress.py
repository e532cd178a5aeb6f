"""Progress: a bar a strategy while it is compared, wiped at the end; where nothing is drawn, a line a strategy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console

from repl.screen.sanitise import line
from repl.screen.theme import is_drawn, say
from repl.screen.trace import cut

if TYPE_CHECKING:
    from rich.progress import Progress as Bars

NAME_COLUMNS = 30
SAID_COLUMNS = 34


class Progress:
    """Shows the progress of each strategy, by its place among them: as bars, or in lines where there are none."""

    def __init__(self, console: Console, names: Sequence[str], bars: Bars | None = None) -> None:
        self._console, self._names, self._bars = console, names, bars

    def say(self, place: int, said: str, step: bool = False) -> None:
        """Show the step under way; `step` says that one more is done. Lines are for finished strategies only."""
        if self._bars:
            self._bars.update(self._bars.task_ids[place], advance=int(step), said=cut(line(said), SAID_COLUMNS))

    def done(self, place: int, said: str) -> None:
        """The strategy is done, with this."""
        if self._bars:
            self._bars.update(self._bars.task_ids[place], completed=self._bars.tasks[place].total)
            self.say(place, said)
        else:
            of = f"done {place + 1} of {len(self._names)}"
            say(self._console, f"{of}: {line(self._names[place])}: {line(said)}")


@contextmanager
def progress(console: Console, names: Sequence[str], steps: int) -> Iterator[Progress]:
    """Shows how far each of these strategies is in at most so many steps."""
    if not is_drawn(console):
        yield Progress(console, names)
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
        yield Progress(console, names, bars)
