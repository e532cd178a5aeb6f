"""Kill a real process at random moments of a session, resume it, and check that nothing was lost.

    python benchmarks/kills.py                 # 500 kills
    python benchmarks/kills.py --kills 20

A process holds a dialogue under a summarising strategy: parallel calls, notes, planted facts, and branches. After each
recorded event it prints the number of the journal's newest line. It is killed (SIGKILL) at a random moment; the next
process resumes the same file and continues. After each dialogue a new one starts. After each kill, all acknowledged
lines must be there and undamaged, the bytes from before the kill must still be the first of the file, and every call
must have its result. Exits 1 if any of this is false.
"""

from __future__ import annotations

import argparse
import os
import random
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from tests.support.journal_scenes import say
from tests.support.scripted import Scripted
from thimble.agent.messages import pending_turn
from thimble.agent.repair import is_sound
from thimble.session.journal.journal import Journal
from thimble.session.journal.lines import read_lines
from thimble.session.journal.records import Branched
from thimble.session.journal.state import saved_state
from thimble.session.journal.tree import Tree
from thimble.session.session import Session
from thimble.session.settings import Settings

KILLS, LONGEST_SECONDS = 500, 0.6
EXCHANGES, PACE = 6, 200.0
STRATEGIES = ("hybrid:window=1", "progressive-summary", "notes+observation-masking:window=1", "thrifty")
SLOW_BYTES, SLOW_SECONDS = 256, 0.0005


# ---- the process that is killed ----


def resumed(path: Path, strategy: str) -> Session:
    """The session of this file; its model reads two articles in parallel, makes a note, searches, and answers."""
    journal = Journal.reopen(path) if path.exists() else Journal(path)
    session = Session(Settings(backend="reader", strategy=strategy, budget=4000), journal, journal.state())
    session.backends.first_backend = lambda: Scripted([say] * 10_000, pace=PACE)  # type: ignore[method-assign]
    return session


def live(path: Path, strategy: str, told: int) -> None:
    """Continue the dialogue to its end; report each recorded line."""
    session = resumed(path, strategy)
    agent = session.agent
    if pending_turn(agent.history) or not is_sound(agent.history):
        raise AssertionError("a call is without its result")
    while (number := agent.ledger.exchanges) < EXCHANGES:
        if number == 2 and not session.planted:
            session.plant("The code is 4711.")
            acknowledge(session, told)
        if number == 4 and len(session.journal.tree.branches) < 4:
            session.branch(session.journal.count // 2)
            acknowledge(session, told)
            continue
        for _ in session.ask(f"Question {number}? both note"):
            acknowledge(session, told)


def acknowledge(session: Session, told: int) -> None:
    """Report the number of lines in the journal."""
    os.write(told, b"%d\n" % session.journal.count)


def slowly(file: int, data: bytes | bytearray) -> int:
    """Write like a slow disk, one part at a time."""
    time.sleep(SLOW_SECONDS)
    return WRITE(file, data[:SLOW_BYTES])


WRITE = os.write


# ---- the process that kills ----


def run_and_kill(path: Path, strategy: str, after: float, slow: bool) -> tuple[int, bool, int]:
    """The number of acknowledged lines, whether the process was killed, and its exit code if not."""
    ours, theirs = os.pipe()
    process = os.fork()
    if not process:
        _be_killed(path, strategy, theirs, slow)
    os.close(theirs)
    ready, _, _ = select.select([ours], [], [], 60)  # wait for its first output, or most processes would die before it
    told, ends = os.read(ours, 65_536) if ready else b"", perf_counter() + after
    while (left := ends - perf_counter()) > 0 and select.select([ours], [], [], left)[0]:
        if not (more := os.read(ours, 65_536)):
            break
        told += more
    os.kill(process, signal.SIGKILL)
    _, status = os.waitpid(process, 0)
    while more := os.read(ours, 65_536):
        told += more
    os.close(ours)
    killed = os.WIFSIGNALED(status)
    return int((told.split() or [b"0"])[-1]), killed, 0 if killed else os.WEXITSTATUS(status)


def _be_killed(path: Path, strategy: str, told: int, slow: bool) -> None:
    try:
        if slow:
            os.write = slowly  # type: ignore[assignment]
        live(path, strategy, told)
    except BaseException:
        traceback.print_exc()
        os._exit(1)
    os._exit(0)


def faults(before: bytes, path: Path, acknowledged: int) -> Iterator[str]:
    """The faults in the file after a kill."""
    data = path.read_bytes() if path.exists() else b""
    there = data.count(b"\n")
    if not data.startswith(before):
        yield "something was rewritten"
    if there < acknowledged:
        yield f"{acknowledged - there} lines that were acknowledged are lost"
    lines, damage = read_lines(data)
    yield from (f"line {one.number} is damaged: {one.why}" for one in damage)
    tree = Tree(lines)
    for branch in tree.branches:
        told = saved_state(tree.path(branch))
        yield from (f"branch {branch} has lost {what}" for what in told.lost)


def main() -> int:
    """Parse the options, and run."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=KILLS)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    return kill(given.kills, random.Random(given.seed))


def kill(times: int, chance: random.Random) -> int:
    """Kill `times` times, and print one line with the result; 1 if there was a fault."""
    began = perf_counter()
    kills = sessions = lines = torn = branches = 0
    wrong: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        while kills < times and not wrong:
            path, strategy = Path(folder) / f"{sessions}.jsonl", STRATEGIES[sessions % len(STRATEGIES)]
            killed, slow = True, sessions % 8 >= 4
            sessions += 1
            while killed and kills < times and not wrong:
                before = path.read_bytes() if path.exists() else b""
                after = chance.uniform(0, LONGEST_SECONDS)
                acknowledged, killed, code = run_and_kill(path, strategy, after, slow)
                kills += killed
                torn += killed and not path.read_bytes().endswith(b"\n")
                found = [*faults(before, path, acknowledged), *(["it does not continue"] if code else [])]
                wrong += [f"kill {kills}, {strategy}: {fault}" for fault in found]
            there = read_lines(path.read_bytes())[0]
            lines += len(there)
            branches += sum(isinstance(line.record, Branched) for line in there)
    for fault in wrong:
        print(fault, file=sys.stderr)
    print(
        f"{kills} kills in {sessions} sessions: {lines:,} lines, {branches} branches, {torn} torn lines, "
        f"{len(wrong)} faults, {perf_counter() - began:.0f} s"
    )
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
