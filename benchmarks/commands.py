"""How long each command takes in a session of 4,000 messages, and against /help, which looks at none of them.

    python benchmarks/commands.py            # a table in Markdown
    python benchmarks/commands.py --check    # exits 1 when a command takes more than 200 ms

The session is one question with 2,000 tool calls and their results under the default strategy and budget, asked one
question more; its ledger has 2,000 calls in 200 exchanges. It is printed to a terminal of 100 columns that is kept in
memory. *First* is the first time in this process, when modules are imported and texts counted; those before it in the
table have done their part of that. *Median* is of the times after it, and only that is held to the limit. After each
time the session is as it was, but for what the strategy remembers.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from rich.console import Console
from rich.theme import Theme

from models.scripted import Scripted
from repl.commands import COMMANDS, obey
from repl.session import Session, open_session
from repl.settings import Settings
from repl.theme import STYLES
from tests.histories import react

STEPS, TIMES = 2_000, 9
CALLS_AN_EXCHANGE = 10
LIMIT_MS = 200.0

ARGUMENTS = {
    "help": ["", "stats", "strategy observation-masking"],
    "context": ["", "next", "raw", "100", "12-100"],
    "why": ["100"],
    "plant": ["The vault opens at 6 o'clock."],
    "predict": ["", "1-100", "off"],
    "strategy": ["", "sliding-window", "retrieval", "hybrid", "observation-masking"],
    "budget": ["", "4000", "8000"],
    "model": ["", "reader"],
    "articles": ["", "agents"],
}
"""What is typed behind a command, one after the other; nothing behind those that are not here."""
LEFT_OUT = {
    "compare": "replays the session under each strategy, and is measured apart",
    "doctor": "waits for servers",
    "load": "leaves the session",
    "save": "looks into every session that is kept",
    "sessions": "looks into every session that is kept",
    "probe": "asks the model, and replays the session",
    "pull": "waits for a server",
    "quit": "leaves",
}


def main(options: Sequence[str], steps: int = STEPS, times: int = TIMES) -> int:
    """Print the table; 1 when `--check` is asked for and a command is over the limit."""
    os.environ.update(dict.fromkeys(("OLLAMA_HOST", "OPENAI_BASE_URL"), "http://127.0.0.1:9"))  # where nothing listens
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
    """The lines that are measured, those of /help first."""
    names = ["help", *(name for name in COMMANDS if name not in ("help", *LEFT_OUT))]
    return [f"/{name} {argument}".rstrip() for name in names for argument in ARGUMENTS.get(name, [""])]


def long_session(steps: int) -> Session:
    """A session in which one question took so many steps, and one more was asked, so that there is a view."""
    session = open_session(Settings(backend="reader"))
    agent = session.agent
    reader, agent.backend = agent.backend, Scripted(["It costs nothing."], agent.backend.counter)
    agent.history = react(steps)
    for _ in session.ask("And what does it save?"):
        pass
    agent.backend = reader
    calls = range(steps)
    agent.ledger.calls = [replace(agent.ledger.calls[0], exchange=call // CALLS_AN_EXCHANGE + 1) for call in calls]
    agent.ledger.exchanges = agent.ledger.prepared_in = agent.ledger.calls[-1].exchange
    return session


def milliseconds(session: Session, text: str) -> float:
    """Time to obey this line."""
    agent = session.agent
    history, ledger = [*agent.history], agent.ledger
    console = Console(
        file=io.StringIO(),
        theme=Theme(STYLES),
        width=100,
        force_terminal=True,
        highlight=False,
        emoji=False,
        markup=False,
    )
    started = perf_counter()
    obey(session, text, console)
    took = perf_counter() - started
    agent.history[:], agent.ledger = history, ledger
    return took * 1000


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
