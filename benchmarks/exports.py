"""Measure the time and the size of an export of 4,000 messages, for each format.

    python benchmarks/exports.py          # a table in Markdown
    python benchmarks/exports.py 400      # this many messages
    python benchmarks/exports.py 4000 DIR # also write the files there

The session is real: exchanges of ten turns under the default strategy and budget, whose scripted model searches the
articles nine times and then answers. The session is in memory, and `/export` exports it.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from tests.support.scripted import Scripted, Step
from thimble.agent.messages import ToolCall
from thimble.agent.protocols import Text
from thimble.repl.commands.export.export import FORMATS
from thimble.repl.commands.table import run_command
from thimble.repl.screen.theme import console_for
from thimble.session.session import Session
from thimble.session.settings import Settings

WORDS = ["cache", "budget", "window", "masking", "summary", "prefix", "agent", "tool", "token", "attention"]
TURNS = 10


def main(arguments: Sequence[str]) -> int:
    """Print the table."""
    os.environ.update(dict.fromkeys(("OLLAMA_HOST", "OPENAI_BASE_URL"), "http://127.0.0.1:9"))  # nothing listens there
    session = long_session(int(arguments[0]) if arguments else 4_000)
    calls = len(session.agent.ledger.calls)
    print(f"{len(session.agent.history):,} messages, {calls:,} calls\n")
    print("| format | seconds | MB |\n|---|--:|--:|")
    with TemporaryDirectory() as spare:
        folder = Path(arguments[1] if len(arguments) > 1 else spare)
        for name in FORMATS:
            path, started = folder / f"session.{name}", perf_counter()
            run_command(session, f"/export {name} {path}!", console_for(plain=True, file=io.StringIO()))
            took = perf_counter() - started
            print(f"| `{name}` | {took:.1f} | {path.stat().st_size / 1e6:.1f} |", flush=True)
    return 0


def long_session(messages: int) -> Session:
    """A session with at least this many messages."""
    session = Session(Settings(backend="reader"))
    counter, number = session.agent.backend.counter, 0
    while len(session.agent.history) < messages:
        steps: list[Step] = []
        for turn in range(TURNS - 1):
            number += 1
            query = f"{WORDS[number % 10]} {WORDS[number // 10 % 10]}"
            call = ToolCall(f"c{number}", "search_articles", f'{{"query": "{query} {turn}"}}')
            steps.append([Text(f"I look for {query}."), call])
        session.agent.use(Scripted([*steps, f"It is in what was found, {number} times."], counter))
        for _ in session.ask(f"What is said of {WORDS[number % 10]} in exchange {number // 9}?"):
            pass
    return session


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
