"""Does a command answer at once on a long session? Milliseconds on 4,000 messages, and how many times `/help` that is.

python benchmarks/commands.py            # the table
python benchmarks/commands.py --check    # exits 1 where one takes more than 200 ms
"""

from __future__ import annotations

import sys
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from models.scripted import Scripted
from models.tokens import EstimateCounter
from repl.commands import obey
from repl.session import Session, open_session
from repl.settings import Settings
from tests.histories import Story
from tests.repl.sessions import Paper

MESSAGES = 4_000
LIMIT_MS = 200
SPECS = ("none", "sliding-window", "observation-masking", "hybrid")
COMMANDS = (
    "/stats",
    "/budget",
    "/context",
    "/context next",
    "/context 3000",
    "/context 12-2000",
    "/context raw",
    "/why 2",
    "/why 3000",
)


def long_session(spec: str) -> Session:
    """Four thousand messages in exchanges of some fifty, and a call that was sent them."""
    session = open_session(Settings(backend="reader", strategy=spec))
    session._use(Scripted(["A summary."] * 4_000, EstimateCounter()))
    story = Story(session.agent.system)
    while len(story.messages) < MESSAGES:
        story.ask("Which article says what a prefix cache costs?")
        for _ in range(24):
            story.turn(150, says=40)
        story.answer("None of them.")
    session.agent.history[:] = story.messages
    for _ in session.ask("What is a context window?"):
        pass
    return session


def milliseconds(session: Session, command: str) -> float:
    """The best of three."""
    times = []
    for _ in range(3):
        paper = Paper(100, color=True)
        started = perf_counter()
        obey(session, command, paper.console)
        times.append(1_000 * (perf_counter() - started))
    return min(times)


def main() -> int:
    slowest = 0.0
    for spec in SPECS:
        session = long_session(spec)
        help_ = milliseconds(session, "/help")
        print(f"{spec}, {len(session.agent.history):,} messages: /help {help_:.0f} ms")
        for command in COMMANDS:
            took = milliseconds(session, command)
            slowest = max(slowest, took)
            print(f"  {command:<18}{took:>6.0f} ms {took / help_:>6.1f}")
    return int("--check" in sys.argv and slowest > LIMIT_MS)


if __name__ == "__main__":
    sys.exit(main())
