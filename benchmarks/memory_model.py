"""Measure the benefit of a memory model in live sessions, with the built-in reader as the agent.

python benchmarks/memory_model.py reader
python benchmarks/memory_model.py NAME@URL --runs 10

Each session has a made-up library of two articles: two questions, and the same two again. The memory model was trained
on other words. The agent is as slow as a described machine (--pace).

The columns: sessions; repeated questions with the same answer as before; those of them that were looked up again;
tokens of a prompt; summaries in use, of all requested ones; seconds of a call of the agent; seconds that it waited for
summaries.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from tests.servers.memory_runs import library
from thimble.agent.events import Answered, ToolCalled
from thimble.lab.memory_model.command import STRATEGY
from thimble.session.session import Session
from thimble.session.settings import Settings

ROWS = {
    "everything": "none",
    "no summary": f"{STRATEGY},summary=none",
    "in the background": STRATEGY,
    "waited for": f"{STRATEGY},summary=waited",
}


def row(spec: str, memory: str, pace: str, runs: int) -> Sequence[object]:
    """The figures of a strategy."""
    kept, again, calls, side = [], [], [], []
    for seed in range(runs):
        with TemporaryDirectory() as folder:
            asked, place = library(Path(folder), seed, "unseen")
            session = Session(
                Settings(backend="reader", pace=pace, corpus=place, strategy=spec, memory=memory, budget=100_000)
            )
            first: dict[str, str] = {}
            for text in asked:
                events = [*session.ask(text)]
                said = next(event.text for event in events if isinstance(event, Answered))
                if text in first:
                    kept.append(said == first[text])
                    again.append(any(isinstance(event, ToolCalled) for event in events))
                first.setdefault(text, said)
            session.leave()
            calls += [call for call in session.agent.ledger.calls if call.purpose == "answer"]
            side += [call for call in session.agent.ledger.calls if call.purpose == "memory"]
    waited = sum(call.seconds if call.lag is None else call.held for call in side)
    return [
        runs,
        f"{sum(kept)} of {len(kept)}",
        sum(again),
        f"{mean(call.prompt.tokens for call in calls):.0f}",
        f"{sum(bool(call.output.tokens) for call in side)} of {len(side)}",
        f"{mean(call.seconds for call in calls):.2f}",
        f"{waited:.1f}",
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("memory", metavar="NAME", help="the memory model, as --memory of thimble")
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--pace", default="laptop-7b", help="the agent's machine")
    options = parser.parse_args()
    print("| | sessions | answers kept | looked up again | tokens | summaries | seconds | waited |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for name, spec in ROWS.items():
        cells = row(spec, options.memory, options.pace, options.runs)
        print(f"| {name} | {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
