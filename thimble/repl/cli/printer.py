"""The printer of answers without a conversation: answers to standard output, the trace to standard error."""

from __future__ import annotations

import sys
from shutil import get_terminal_size

from thimble.agent.events import Answered, Asked, Event
from thimble.repl.screen.exchange import Lines
from thimble.repl.screen.footer import footer_line
from thimble.repl.screen.sanitise import clean
from thimble.repl.screen.streams import write_error_line, write_output
from thimble.repl.screen.theme import console_for
from thimble.repl.screen.trace import PLAIN_WIDTH, Kind, label_line, passage_line, unread_line
from thimble.repl.screen.wrapping import stream_width, wrap_text
from thimble.session.session import Session


class Printer(Lines):
    """Prints answers and the output of commands, a blank line between two; trace lines have labels in plain mode."""

    def __init__(self, session: Session) -> None:
        super().__init__(console_for(plain=True))
        self.session, self._plain, self._written = session, session.settings.plain, False
        drawn_on = get_terminal_size().columns if sys.stderr and sys.stderr.isatty() else 120
        self._columns = PLAIN_WIDTH if self._plain else drawn_on

    def begin(self) -> None:
        """Print a blank line, if anything was printed before."""
        if self._written:
            write_output("\n")
        self._written = True

    def show(self, event: Event) -> None:
        """Show one event; an answer is printed when it is complete."""
        match event:
            case Asked():
                write_error_line(f"{'you:' if self._plain else '›'} {event.message.content}")
            case Answered():
                if answer := wrap_text(clean(event.text).strip(), stream_width(sys.stdout)):
                    self.begin()
                    write_output(f"{answer}\n")
                self._line("passage", passage_line(event))
                write_error_line(footer_line(self.session.agent, self._columns))
                self._line("note", f"  ! {unread_line(event.invented)}" if event.invented else "")
            case _:
                super().show(event)

    def _width(self) -> int:
        return self._columns

    def _line(self, kind: Kind, text: str | None) -> None:
        if text:
            write_error_line(label_line(kind, text) if self._plain else text)

    def _say(self, text: str) -> None:
        self._open += text

    def _end_reply_text(self, called: bool) -> None:
        said, self._open = self._open.strip(), ""
        if said and called:
            write_error_line(f"model: {said}" if self._plain else f"  {said}")
