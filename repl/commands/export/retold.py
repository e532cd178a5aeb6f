"""The screen of a session, rendered again from its journal."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

from rich.text import Text

from agent.events import Answered, Asked, Changed, Planted, Withdrawn
from repl.commands.export.story import beginning, path
from repl.screen.exchange import Screen
from repl.screen.footer import footer
from repl.screen.sanitise import clean, line
from repl.screen.theme import GLYPH, STYLES
from session.journal.records import Record, Value
from session.journal.state import SavedState
from session.playback import as_typed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import Console

    from agent.agent import Agent
    from session.session import Session

NO_ANSWER = "no answer: it was stopped, or it failed"
WITHDRAWN = "the budget could not hold the question"
ROWS = 32


class Retelling:
    """Goes through the lines of a journal as a terminal of so many columns showed them.

    Raises UsageError where nothing was asked.
    """

    def __init__(self, session: Session, columns: int) -> None:
        self.agent: Agent = session.agent
        self.lines = path(session)
        beginning(self.lines)
        self.past = SavedState()
        self._console, self._written = screen(columns)
        self._shown: Screen | None = None

    def written(self) -> str:
        """What the terminal was written, without what was wiped again."""
        for each in self.lines:
            before = self.past.settings
            record = self.past.read(each)
            if isinstance(record, Changed):
                self._changed(record, before)
            else:
                self._happened(record)
        self._end()
        return self._written.getvalue()

    def _happened(self, record: Record) -> None:
        match record:
            case Asked(message):
                self._end()
                self._prompt(message.content)
                self._shown = Screen(self._console)
                self._shown.history = lambda: self.past.history
                self._console.print()
            case Planted(fact=fact):
                self._end()
                self._prompt(f"/plant {fact}")
                self._console.print()
            case Withdrawn():
                self._end(WITHDRAWN)
            case _ if self._shown is not None:
                self._shown.show(record)  # type: ignore[arg-type]
        if isinstance(record, Answered):
            self._end("")
            self._foot()

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

    def _changed(self, change: Changed, before: Mapping[str, Value]) -> None:
        """Show a swap as the command that makes it."""
        if typed := as_typed(change):
            self._end()
            if change.value != before[change.setting]:
                self._prompt(line(typed))
                self._console.print()


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
