"""Make the recordings that ship with thimble: a dialogue under a strategy, with the built-in reader.

    python -m scripts.recordings [STRATEGY...]

Without a name it remakes those that ship; a new strategy need not have one.

The reader is not a language model: it answers only from the text of its view, and the same on every machine, so a test
can compare the recordings with the program.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from thimble.agent.events import Event, Prepared, Replied, SideBegan, SideCalled, ToolCalled, ToolReturned
from thimble.models import READER
from thimble.repl.cli.recordings import SHIPPED, list_shipped
from thimble.repl.commands.table import run_command
from thimble.repl.screen.theme import console_for
from thimble.session.journal.journal import Journal
from thimble.session.journal.records import Aside, Opened, Record
from thimble.session.session import Session
from thimble.session.settings import Settings
from thimble.session.step_worker import StepWorker

BUDGET = 4_000
LINES = (
    "Read the article about context windows",
    "/plant The door code of the library is 7431.",
    "Now read the article about testing LLM applications",
    "What is observation masking?",
    "How well did humans do on the WebArena tasks?",
    "What is the door code of the library?",
    "/probe",
)
"""The lines of the lesson (docs/tutorial/3-teach-it.md): an early fact is asked for late."""
OF_FILES = (
    "Read the file records/boxes-may.json",
    "/plant The door code of the library is 7431.",
    "Now read the file records/boxes-june.json",
    "Which box holds the night watch?",
    "What is observation masking?",
    "What is the door code of the library?",
    "/probe",
)
"""The lines for strategies that shorten results: two JSON files, the second of which mostly repeats the first."""
STORIES = dict.fromkeys(("tidy", "dedup"), OF_FILES)
"""The lines of strategies that do not use the lesson's."""
SOONER = {"llm-summary": "every=4,tail=2", "critic-summary": "every=4,tail=2"}
"""Parameters for strategies that otherwise do nothing in so short a dialogue."""
LINE_SECONDS = 0.01
"""The time between two lines of a recording: a hundred pieces of a reply per second."""


class Steady(Journal):
    """A reproducible journal: it has no folder and no real times."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._began = self._asked = self._written = 0
        self.clock = lambda: self._written * LINE_SECONDS

    def write(self, record: Record, memory: str = "") -> list[str]:
        """Append a line."""
        self._written += 1
        if isinstance(record, Prepared | ToolCalled):
            self._began = self._written
        if isinstance(record, SideBegan):
            self._asked = self._written
        return super().write(self._steady(record), memory)

    def _steady(self, record: Record) -> Record:
        meanwhile = isinstance(record, SideCalled) and record.lag is not None
        begun = self._asked if meanwhile else self._began
        began, seconds = round(begun * LINE_SECONDS, 2), round((self._written - begun) * LINE_SECONDS, 2)
        match record:
            case Opened(settings=settings):
                return replace(record, id="", settings={**settings, "corpus": "", "files": ""})
            case Replied():
                return replace(record, seconds=seconds, first_token_seconds=LINE_SECONDS, began=began)
            case ToolReturned():
                return replace(record, seconds=seconds, began=began)
            case SideCalled(held_seconds=held):
                steady = {"began": began, "held_seconds": seconds if held else 0.0, "first_token_seconds": LINE_SECONDS}
                return replace(record, seconds=seconds, **steady)
            case Aside(came=came):
                steady = {"began": began, "held_seconds": 0.0, "first_token_seconds": LINE_SECONDS, "seconds": seconds}
                calls = [{**call, **steady} for call in came["side_calls"]]
                return replace(record, came={**came, "seconds": seconds, "side_calls": calls})
        return record


def make(strategy: str, path: Path) -> list[Event]:
    """Hold the dialogue under a strategy and record it to a file; return its events."""
    settings = Settings(backend=READER, strategy=spec_of(strategy), budget=BUDGET)
    session = Session(settings, Steady(path))
    session.agent.side.worker = StepWorker()
    events = [*hold(session, lines_of(strategy))]
    session.leave()
    return events


def lines_of(strategy: str) -> Sequence[str]:
    """The lines of a recording."""
    return STORIES.get(strategy, LINES)


def spec_of(strategy: str) -> str:
    """The SPEC of a recording."""
    return f"{strategy}:{SOONER[strategy]}" if strategy in SOONER else strategy


def hold(session: Session, lines: Iterable[str]) -> Iterator[Event]:
    """Send these lines, and yield every event."""
    console = console_for(plain=True, file=io.StringIO())
    for line in lines:
        if line.startswith("/"):
            run_command(session, line, console)
        else:
            yield from session.ask(line)


def main(names: Sequence[str], write: Callable[[str], object] = sys.stdout.write) -> None:
    """Make the recordings of these strategies, or of all that ship one."""
    for strategy in names or [name.removeprefix(f"{READER}/") for name in list_shipped()]:
        path = SHIPPED / READER / f"{strategy}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        make(strategy, path)
        path.chmod(0o644)
        write(f"{READER}/{strategy}  {path.stat().st_size:,} bytes\n")


if __name__ == "__main__":
    main(sys.argv[1:])
