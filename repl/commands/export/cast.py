"""The session as an asciicast v3: what the terminal was written, when, and a marker an exchange.

Source: docs.asciinema.org/manual/asciicast/v3. A line is printable ASCII, so that the file itself steers no terminal.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agent.events import Asked
from repl.commands.export.retold import ROWS, Retelling
from repl.commands.export.story import beginning, path
from repl.screen.sanitise import line
from repl.screen.trace import cut
from session.journal.records import Change
from session.jsonl import to_line

if TYPE_CHECKING:
    from session.session import Session

THINKING_SECONDS = 2.0
"""The longest that the recording waits for the next question."""
IDLE_SECONDS = 5.0
"""The longest that a player shall let nothing happen."""


def export(session: Session, columns: int) -> Iterator[str]:
    """The recording, a line an event. Raises UsageError where nothing was asked."""
    begun, question, name = beginning(path(session))
    yield to_line({
        "version": 3,
        "term": {"cols": columns, "rows": ROWS, "type": "xterm-256color"},
        "timestamp": int(begun),
        "idle_time_limit": IDLE_SECONDS,
        "title": line(name) or cut(line(question), 70),
    })  # fmt: skip
    last, due = begun, 0.0
    for at, record, written in Retelling(session, columns, live=True).records():
        due += max(0.0, at - last)
        due = min(due, THINKING_SECONDS) if isinstance(record, Asked | Change) else due
        last = max(last, at)
        if isinstance(record, Asked):
            yield _event(due, "m", cut(line(record.message.content), 70))
            due = 0.0
        if written:
            yield _event(due, "o", written.replace("\n", "\r\n"))
            due = 0.0
    yield _event(0.0, "x", "0")


def _event(seconds: float, code: str, data: str) -> str:
    return to_line([round(seconds, 3), code, data])
