"""Measure the time of each command in a session of 4,000 messages, and compare with /help, which reads none of them.

    python benchmarks/commands.py            # a table in Markdown
    python benchmarks/commands.py --check    # exits 1 when a command takes more than 200 ms

The session has 200 exchanges of ten model calls, nine of which ask for a tool, under the default strategy and budget,
all written to its journal as they happened, and one more branch. The output goes to a terminal of 100 columns in
memory. *First* is the first run in this process, including imports and token counts that no earlier row has done.
*Median* is that of the later runs; only the median has a limit. After each run the session is restored.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from rich.console import Console
from rich.theme import Theme

from tests.support.histories import react_history
from tests.support.scripted import Reply, Scripted
from thimble.agent.messages import Message, Schema
from thimble.agent.protocols import Text
from thimble.repl.commands.table import COMMANDS, run_command
from thimble.repl.screen.theme import STYLES
from thimble.session.journal.journal import Journal
from thimble.session.journal.tree import FIRST_BRANCH, Tree
from thimble.session.session import Session
from thimble.session.settings import Settings

STEPS, TIMES = 2_000, 9
CALLS_AN_EXCHANGE = 10
LIMIT_MS = 200.0

ARGUMENTS = {
    "help": ["", "stats", "strategy observation-masking"],
    "context": ["", "next", "raw", "100", "12-100"],
    "why": ["100"],
    "pin": ["100", "off 100"],
    "drop": ["100", "off 100"],
    "edit": ["100 In short.", "off 100"],
    "plant": ["The vault opens at 6 o'clock."],
    "predict": ["", "1-100", "off"],
    "strategy": ["", "sliding-window", "retrieval", "hybrid", "observation-masking"],
    "budget": ["", "4000", "8000"],
    "model": ["", "reader"],
    "articles": ["", "agents"],
    "fork": ["", "0", "5", "5 none"],
    "tree": ["", "1", "2"],
    "undo": ["", "5"],
    "timeline": ["", "all"],
    "retry": ["", "none"],
}
"""The arguments to try with each command; a command that is not here runs without one."""
LEFT_OUT = {
    "compact": "asks the model",
    "compare": "replays the session under each strategy, and is measured apart",
    "export": "writes a file, and is measured apart",
    "doctor": "waits for servers",
    "load": "leaves the session",
    "save": "reads all saved sessions",
    "sessions": "reads all saved sessions",
    "probe": "asks the model, and replays the session",
    "pull": "waits for a server",
    "quit": "leaves",
    "tour": "is interactive",
}


def main(options: Sequence[str], steps: int = STEPS, times: int = TIMES) -> int:
    """Print the table; 1 if a command is over the limit, with `--check`."""
    os.environ.update(dict.fromkeys(("OLLAMA_HOST", "OPENAI_BASE_URL"), "http://127.0.0.1:9"))  # nothing listens there
    session = long_session(steps)
    print(f"{len(session.agent.history):,} messages, median of {times} times, limit {LIMIT_MS:g} ms\n")
    print("| command | first ms | median ms | ratio to /help |\n|---|--:|--:|--:|")
    reference, over = 0.0, []
    for text in typed():
        first, *later = (milliseconds(session, text) for _ in range(times + 1))
        took = median(later)
        reference = reference or took
        print(f"| `{text}` | {first:.1f} | {took:.1f} | {took / reference:.1f} |")
        over += [f"{text}: {took:.0f} ms"] if took > LIMIT_MS else []
    left_out = [f"/{name} ({why})" for name, why in LEFT_OUT.items() if name in COMMANDS]
    print(f"\nNot measured: {', '.join(left_out)}.")
    for line in over:
        print(f"over the limit: {line}")
    return 1 if over and "--check" in options else 0


def typed() -> list[str]:
    """The lines to measure, those of /help first."""
    names = ["help", *(name for name in COMMANDS if name not in ("help", *LEFT_OUT))]
    return [f"/{name} {argument}".rstrip() for name in names for argument in ARGUMENTS.get(name, [""])]


def long_session(steps: int) -> Session:
    """A session of `steps` model calls, all except the last of each exchange with a tool call, and one more branch."""
    session = Session(Settings(backend="reader"))
    agent = session.agent
    told = react_history(steps + CALLS_AN_EXCHANGE)
    reader, actor = agent.backend, Scripted(_replies(told), agent.backend.counter)
    actor.name, actor.model, agent.backend = reader.name, reader.model, actor  # from here the journal names this model
    tools, agent.tools = agent.tools, {**agent.tools, "read_article": _Told(agent.tools["read_article"].schema, told)}
    for number in range(steps // CALLS_AN_EXCHANGE):
        _ask(session, f"And what does page {number} say?")
    run_command(session, "/fork none", _console())
    _ask(session, "And what does it save?")
    session.switch(FIRST_BRANCH)
    agent.backend, agent.tools = reader, tools
    return session


def _ask(session: Session, question: str) -> None:
    for _ in session.ask(question):
        pass


def _replies(told: Sequence[Message]) -> Iterator[Reply]:
    """The model's replies in these messages; every tenth reply is an answer."""
    spoken = [message for message in told if message.role == "assistant"]
    for number, message in enumerate(spoken, 1):
        yield "It costs nothing." if number % CALLS_AN_EXCHANGE == 0 else [Text(message.content), *message.calls]


class _Told:
    """A tool that returns the results in these messages, one after the other."""

    name = "read_article"

    def __init__(self, schema: Schema, told: Sequence[Message]) -> None:
        self.schema = schema
        self._results = (message.content for message in told if message.role == "tool")

    def run(self, arguments: Mapping[str, Any]) -> str:
        """The next result."""
        return next(self._results)


def _console() -> Console:
    return Console(
        file=io.StringIO(),
        theme=Theme(STYLES),
        width=100,
        force_terminal=True,
        highlight=False,
        emoji=False,
        markup=False,
    )


def milliseconds(session: Session, text: str) -> float:
    """The time to run this line, after which the session is restored."""
    agent, journal = session.agent, session.journal
    state, strategy = agent.state, agent.strategy
    session.journal, agent.state = _copied(journal), agent.state.copy()
    console = _console()
    started = perf_counter()
    run_command(session, text, console)
    took = perf_counter() - started
    session.journal = journal
    agent.state, agent.strategy = state, strategy
    return took * 1000


def _copied(journal: Journal) -> Journal:
    """An independent copy of the journal."""
    own = copy(journal)
    own.tree = Tree()
    own.tree.branches = {one.number: replace(one, lines=[*one.lines]) for one in journal.tree.branches.values()}
    own.tree.current = journal.tree.current
    return own


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
