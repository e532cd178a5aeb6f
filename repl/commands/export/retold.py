"""The screen of a session, rendered again from its journal, with the time of each piece."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from agent import figures
from agent.events import Answered, Asked, BudgetChanged, ModelChanged, Planted, StrategyChanged, TidyChanged, Withdrawn
from repl.commands.export.story import beginning, path
from repl.screen.exchange import Screen
from repl.screen.footer import footer
from repl.screen.sanitise import clean, line
from repl.screen.theme import GLYPH, STYLES
from session.journal.records import Change, Record
from session.journal.state import SavedState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from agent.agent import Agent
    from session.session import Session

NO_ANSWER = "no answer: it was stopped, or it failed"
WITHDRAWN = "the budget could not hold the question"
ROWS = 32


class Retold(Screen):
    """The screen as it was at each moment: its clock is the time of the record, and `redraw` draws it."""

    auto_refresh = False
    at = 0.0

    def _now(self) -> float:
        return self.at


class Retelling:
    """Goes through the lines of a journal as a terminal of so many columns showed them.

    `live` says whether what is under way is drawn too, to be wiped again when it is done. Raises UsageError where
    nothing was asked.
    """

    def __init__(self, session: Session, columns: int, live: bool) -> None:
        self.agent: Agent = session.agent
        self.lines = path(session)
        beginning(self.lines)
        self.past = SavedState()
        self.live = live
        self._console, self._written = screen(columns)
        self._shown: Retold | None = None

    def records(self) -> Iterator[tuple[float, Record, str]]:
        """Each record with its time, and what the terminal was written for it."""
        for each in self.lines:
            before = self._values()
            record = self.past.read(each)
            if isinstance(record, Change):
                self._changed(record, before)
            else:
                self._happened(record, each.at)
            yield each.at, record, self._taken()
        if self._shown:
            self._end()
            yield self.lines[-1].at, record, self._taken()

    def _happened(self, record: Record, at: float) -> None:
        match record:
            case Asked(message):
                self._end()
                self._prompt(message.content)
                self._begin(at)
            case Planted(fact=fact):
                self._end()
                self._prompt(f"/plant {fact}")
                self._console.print()
            case Withdrawn():
                self._end(WITHDRAWN)
            case _ if self._shown is not None:
                self._shown.at = at
                self._shown.show(record)  # type: ignore[arg-type]
                self._shown.redraw()
        if isinstance(record, Answered):
            self._end("")
            self._foot()

    def _begin(self, at: float) -> None:
        self._shown = Retold(self._console)
        self._shown.at = at
        if self.live:
            self._shown.__enter__()
        else:
            self._console.print()

    def _end(self, why: str = NO_ANSWER) -> None:
        """End the exchange that is shown, if there is one, and say why it has no answer."""
        if self._shown:
            self._shown.__exit__()
            if why:
                self._console.print(Text(why, style="warn"))
                self._console.print()
        self._shown = None

    def _foot(self) -> None:
        past = self.past
        words = footer(replace(self.agent, state=past), self._console.width)
        self._console.print()
        self._console.print(Text(words, style="quiet"), no_wrap=True, overflow="ignore", crop=False)
        self._console.print()

    def _prompt(self, text: str) -> None:
        self._console.print(Text.assemble((GLYPH, "bold"), (clean(text), "bold")))

    def _values(self) -> Mapping[str, str]:
        past = self.past
        tidy, model = figures.switch(past.tidy), past.model.name or past.model.backend
        return {"strategy": past.strategy, "tidy": tidy, "budget": f"{past.limit}", "model": model}

    def _changed(self, change: Change, before: Mapping[str, str]) -> None:
        """Show a swap as the command that makes it."""
        if isinstance(change, StrategyChanged | TidyChanged | BudgetChanged | ModelChanged):
            self._end()
            for name, value in self._values().items():
                if value != before[name]:
                    self._prompt(f"/{name} {line(value)}")
                    self._console.print()

    def _taken(self) -> str:
        written = self._written.getvalue()
        self._written.seek(0)
        self._written.truncate()
        return written


def screen(columns: int) -> tuple[Console, io.StringIO]:
    """A terminal in memory, and the file with its output."""
    from rich.console import Console
    from rich.theme import Theme

    file = io.StringIO()
    console = Console(
        file=file,
        theme=Theme(STYLES),
        width=columns,
        height=ROWS,
        force_terminal=True,
        color_system="standard",
        no_color=False,
        highlight=False,
        emoji=False,
        markup=False,
        legacy_windows=False,
        _environ={},
    )
    return console, file
