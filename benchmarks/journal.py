"""Measure the cost of the journal: writing it, and resuming from it.

    python benchmarks/journal.py            # the figures
    python benchmarks/journal.py --check    # exits 1 above a limit

Writing: an answer of 20,000 streamed tokens with a journal on disk, compared with one without, and with a stream of a
thousand tokens per second. Resuming: a session of 4,000 messages and 2,000 calls under several strategies, compared
with only parsing its lines as JSON. Size: bytes per call, in the first and the last tenth of that session; a ratio of 1
means that a call costs the same in a long session as in a short one.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from collections.abc import Sequence

from tests.support.histories import TinyCounter
from tests.support.scripted import Reply, Scripted
from tests.support.sessions import tool_call
from thimble.agent.events import ReplyPiece
from thimble.agent.messages import Message
from thimble.agent.protocols import Delta, Text
from thimble.session.journal.journal import Journal
from thimble.session.session import Session
from thimble.session.settings import Settings

TOKENS, TOKENS_A_SECOND, TIMES = 20_000, 1_000, 3
CALLS_AN_EXCHANGE, EXCHANGES = 10, 200
STRATEGIES = ("none", "observation-masking", "hybrid", "progressive-summary")
MOST_SHARE, MOST_RATIO, MOST_GROWTH = 0.1, 10.0, 3.0


def _say(messages: object, tools: object) -> Reply:
    assert isinstance(messages, Sequence)
    newest: Message = messages[-1]
    if newest.content == "long":
        return list[Delta | BaseException](Text("word ") for _ in range(TOKENS))
    asked = max((at for at, one in enumerate(messages) if one.role == "user" and not one.why), default=0)
    turn = sum(one.role == "assistant" for one in messages[asked:])
    if not tools or turn >= CALLS_AN_EXCHANGE - 1:
        return "It is masking, in brief."
    return tool_call("search_articles", 1, query=f"masking {turn}")


def session_at(path: Path | None, strategy: str) -> Session:
    """The session of this file, resumed if it exists; its model streams long answers, or calls tools."""
    journal = Journal.reopen(path) if path and path.exists() else Journal(path)
    session = Session(Settings(backend="reader", strategy=strategy, budget=8000), journal, journal.state())
    session.backends.first_backend = lambda: Scripted([_say] * 100_000, TinyCounter())  # type: ignore[method-assign]
    _ = session.agent
    return session


def seconds_of_an_answer(path: Path | None) -> tuple[float, int]:
    """The time of an exchange with a long answer, and the number of its events."""
    session = session_at(path, "none")
    if path is None:
        session.agent.record = None
    started, events = perf_counter(), 0
    for event in session.ask("long"):
        events += isinstance(event, ReplyPiece)
    took = perf_counter() - started
    session.journal.close()
    return took, events


def writing(folder: Path) -> float:
    """The time for writing, as a share of the streaming time of a fast model."""
    with_, without = (
        median(seconds_of_an_answer(folder / f"answer-{number}.jsonl" if kept else None)[0] for number in range(TIMES))
        for kept in (True, False)
    )
    each = (with_ - without) / TOKENS
    share = each * TOKENS_A_SECOND
    size = (folder / "answer-0.jsonl").stat().st_size
    print(
        f"{TOKENS:,} streamed tokens: {with_:.2f} s with a journal, {without:.2f} s without; {each * 1e6:.0f} µs an "
        f"event, {share:.1%} of the time at {TOKENS_A_SECOND:,} tokens a second; {size / TOKENS:.0f} bytes an event"
    )
    return share


def resuming(folder: Path, strategy: str, exchanges: int) -> tuple[float, float]:
    """The ratio of resuming to only parsing the JSON, and of the bytes per call at the end to those at the start."""
    path = folder / f"{strategy}.jsonl"
    session = session_at(path, strategy)
    ends = []
    for number in range(exchanges):
        for _ in session.ask(f"Question {number} about masking?"):
            pass
        ends.append(path.stat().st_size)
    calls, messages = len(session.agent.ledger.calls), len(session.agent.history)
    session.journal.close()
    took = median(_resumed(path, strategy) for _ in range(TIMES))
    started = perf_counter()
    for line in path.read_bytes().splitlines():
        json.loads(line)
    alone = perf_counter() - started
    tenth = max(1, exchanges // 10)
    early, late = (ends[tenth] - ends[0]) / tenth, (ends[-1] - ends[-1 - tenth]) / tenth
    print(
        f"| {strategy} | {messages:,} | {calls:,} | {ends[-1] / 1e6:.1f} | {early / CALLS_AN_EXCHANGE:,.0f} | "
        f"{late / CALLS_AN_EXCHANGE:,.0f} | {took:.2f} | {took / alone:.1f} |",
        flush=True,
    )
    return took / alone, late / early


def _resumed(path: Path, strategy: str) -> float:
    started = perf_counter()
    session = session_at(path, strategy)
    took = perf_counter() - started
    session.journal.close()
    return took


def main(options: list[str], exchanges: int = EXCHANGES) -> int:
    """Print the figures; 1 if one is over its limit, with `--check`."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        good = writing(folder) <= MOST_SHARE
        print("\n| strategy | messages | calls | MB | bytes a call, first | last | resume s | ratio to JSON alone |")
        print("|---|--:|--:|--:|--:|--:|--:|--:|")
        for strategy in STRATEGIES:
            ratio, growth = resuming(folder, strategy, exchanges)
            good = good and ratio <= MOST_RATIO and growth <= MOST_GROWTH
    return int("--check" in options and not good)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
