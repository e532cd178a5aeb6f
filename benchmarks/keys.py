"""Does a key press wait for the forecast? A session of 4,000 messages, and a question typed at 20 keys per second.

    python benchmarks/keys.py            # a table in Markdown
    python benchmarks/keys.py --check    # exits 1 if drawing the toolbar takes 50 ms

*Forecast* is the median time of one forecast, in its own thread; *toolbar* is the longest of 20 drawings during a
forecast. Milliseconds.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from tests.support.histories import react_history
from thimble.commands.forecast import forecast_prompt
from thimble.repl.prompt.meter import Meter
from thimble.session.session import Session
from thimble.session.settings import Settings
from thimble.strategies.table import list_without_model

MESSAGES = 4_000
LIMIT_MS = 50
KEYS = 20
QUESTION = "What does observation masking leave in place? "
SPECS = list_without_model()


def main(messages: int = MESSAGES) -> int:
    print(f"Milliseconds on a session of {messages:,} messages\n\n| strategy | forecast | toolbar |\n|---|--:|--:|")
    slowest = 0.0
    for spec in SPECS:
        session = long_session(spec, messages)
        looked, drawn = looks(session), drawings(session)
        slowest = max(slowest, drawn)
        print(f"| {spec} | {looked:.1f} | {drawn:.2f} |")
    return int("--check" in sys.argv and slowest > LIMIT_MS)


def long_session(spec: str, messages: int) -> Session:
    """A session of this many messages with the built-in reader, under this strategy."""
    session = Session(Settings(backend="reader", strategy=spec, budget=1_000_000 if spec == "none" else 8_000))
    session.agent.state.history = [*session.agent.history, *react_history(messages // 2)]
    list(session.ask("Which article is about tokenisers?"))
    return session


def looks(session: Session) -> float:
    taken = []
    for words in range(10):
        started = time.perf_counter()
        forecast_prompt(session, QUESTION * words)
        taken.append(1000 * (time.perf_counter() - started))
    return median(taken)


def drawings(session: Session) -> float:
    meter = Meter(session)
    meter.warm()
    slowest = 0.0
    for keys in range(KEYS):
        started = time.perf_counter()
        meter.pieces(QUESTION[: 1 + keys % len(QUESTION)], 100)
        slowest = max(slowest, 1000 * (time.perf_counter() - started))
        time.sleep(0.05 if keys % 5 else 0.15)
    return slowest


if __name__ == "__main__":
    sys.exit(main())
