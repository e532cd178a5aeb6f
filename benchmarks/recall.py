"""Measure the recall of retrieval on recorded runs.

    python benchmarks/recall.py runs.jsonl.gz --strategy retrieval retrieval:by=meaning

At each call, take the words (four letters or more) of the assistant's next recorded message that occur in results which
the view hides, and nowhere else in the view. The recall is the share of them that the quoted passages have. At most 120
calls per run.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from tests.support.estimate import EstimateCounter
from tests.support.scripted import Scripted
from thimble.agent.budget import Budget
from thimble.agent.errors import BudgetError
from thimble.agent.messages import Message
from thimble.agent.side import SideModel
from thimble.agent.view import prepare
from thimble.commands.trajectories import Trajectory, read_trajectories
from thimble.lab.replay.recorded_replay import can_be_sent
from thimble.models.embeddings.static import static_embedder
from thimble.strategies.spec import make_strategy

WORD = re.compile(r"[A-Za-z0-9_./-]{4,}")
MOST_CALLS = 120


def words(messages: Iterable[Message]) -> set[str]:
    texts = " ".join(" ".join([m.content or "", *(call.arguments for call in m.calls)]) for m in messages)
    return {word for each in WORD.findall(texts) if len(word := each.strip("./-").lower()) >= 4}


def recall(run: Trajectory, spec: str, limit: int) -> tuple[int, int, int, int]:
    """The number of calls, of needed words, of those brought back, and of quoted tokens."""
    counter = EstimateCounter()
    strategy, budget = (
        make_strategy(spec, SideModel(Scripted([], counter), static_embedder())),
        Budget(limit, counter, 0),
    )
    calls = needed = back = tokens = 0
    for history in (run.messages[:at] for at in run.calls[:MOST_CALLS]):
        try:
            view = prepare(history, strategy, budget) if can_be_sent(history, budget) else None
        except BudgetError:
            view = None
        if view is None:
            continue
        known = {message.id for message in history}
        quoted = [message for message in view.messages if message.id not in known]
        shown = words(message for message in view.messages if message.id in known)
        hidden = words(message for message in history if message.role == "tool") - shown
        need = words([run.messages[len(history)]]) & hidden
        calls, needed, back = calls + 1, needed + len(need), back + len(need & words(quoted))
        tokens += sum(map(counter.count, quoted))
    return calls, needed, back, tokens


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--strategy", nargs="+", default=["retrieval", "retrieval:by=meaning"], metavar="SPEC")
    parser.add_argument("--budget", type=int, default=8_000, metavar="N")
    given = parser.parse_args()
    runs = read_trajectories(given.files)
    print("| strategy | calls | words needed | back | tokens quoted a call |\n|---|--:|--:|--:|--:|")
    for spec in given.strategy:
        found = (recall(run, spec, given.budget) for run in runs)
        calls, needed, back, tokens = map(sum, zip(*found, strict=True))
        print(f"| {spec} | {calls:,} | {needed:,} | {back / max(1, needed):.1%} | {tokens / max(1, calls):.0f} |")


if __name__ == "__main__":
    main()
