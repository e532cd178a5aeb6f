"""Compare our strategies with those of six other libraries on the same conversations.

    python benchmarks/peers.py            # tables in Markdown
    python benchmarks/peers.py FILE       # also on recorded runs in a file that `thimble lab replay` reads
    python benchmarks/peers.py --check    # the same, and exit 1 when ours is not ahead

Of recorded runs, each eighth is taken, and each call that fits the budget under some strategy.

Every strategy manages each conversation call by call, in a budget of 8,000 tokens, with its own state between calls.
Each prompt is converted to one format and judged with one counter, four characters per token:

- *invalid*: a result without its call, a call without its result, the question or the task missing;
- *over*: more than the budget;
- *unread*: a result is cleared before any call has shown it;
- *prefill*: tokens after the first difference from the last prompt.

Milliseconds are of the call alone, including its token counts. *Cold* is the first call of a new conversation of that
length, the fastest of up to 25. *Next* is the median over the 15 turns after that, each the fastest of as many, which
excludes other work of the machine. *Holds* is the number of messages in the list at the last turn: a strategy that
deletes history keeps a short list.

Ours is ahead if all three hold. All its calls except those of `none` are valid, read and within the budget. On each
list, no peer with only such calls has less prefill than our best strategy, with as many prompt tokens: a peer that
deletes the conversation has little to compute. Our fastest strategy is faster than the fastest valid peer: cold and,
among strategies that hold as many messages, in the next calls. Strategies that ask a model, or count no tokens, do not
take part in the last two. Below the tables are the names of our strategies that are slower than that peer.

The tables show a few of our strategies, and every other one with a wrong call.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from math import inf
from pathlib import Path
from platform import python_version
from signal import ITIMER_PROF, SIGPROF, setitimer, signal
from statistics import median
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))  # the project need not be installed

from benchmarks.judging import BUDGET, Verdict, judge, lists
from benchmarks.rivals.session import Entry
from tests.support.histories import TinyCounter, calls_of, react_history
from thimble.agent.budget import Budget
from thimble.agent.messages import Message
from thimble.commands.trajectories import read_trajectories
from thimble.lab.replay.recorded_replay import can_be_sent

OURS = "thimble"
PACKAGES = {
    OURS: "thimble",
    "langchain": "langchain",
    "pydantic-ai-harness": "pydantic_ai",
    "agent-framework-core": "agent_framework",
    "headroom-ai": "headroom",
    "strands-agents": "strands",
    "ag2": "ag2",
}
"""Distributions, and the modules of `benchmarks.rivals` that run them."""
BESIDE = ["langchain-core", "pydantic-ai-slim"]
SHOWN = ["sliding-window", "observation-masking", "offload", "compaction", "thrifty"]
EACH = 8
LENGTHS = {82: 40, 4_002: 2_000}
"""The tool steps of a conversation, by its number of messages at the first call."""
MORE_TURNS = 15
MOST_SESSIONS, MOST_SECONDS = 25, 3.0
PATIENCE = 20.0
"""The seconds of CPU time after which a call and its timing are stopped."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds at one length, the verdict on each call, and the messages held after the last."""

    cold: float
    next: float | None
    verdicts: Sequence[Verdict]
    holds: int


@dataclass(slots=True)
class Clock:
    """The times of one entry so far: milliseconds of each call of each conversation, and total seconds."""

    taken: list[list[float]] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    spent: float = 0.0
    holds: int = 0

    @property
    def timing(self) -> Timing:
        """The fastest first call; the fastest call at each later place, and the median of those."""
        fastest = [min(column) for column in zip(*self.taken, strict=True)]
        cold, following = (fastest[0], fastest[1:]) if fastest else (inf, [])
        return Timing(cold, median(following) if following else None, self.verdicts, self.holds)


@dataclass(slots=True)
class Result:
    """The results of one entry: the verdicts on each list, and the timing at each length."""

    package: str
    entry: Entry
    verdicts: dict[str, list[Verdict]] = field(default_factory=dict)
    timings: dict[int, Timing] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The package and the strategy, as the tables and the findings show them."""
        return f"{self.package} {self.entry.name}"

    @property
    def fine(self) -> bool:
        """Whether no call went wrong."""
        timed = (timing.verdicts for timing in self.timings.values())
        return all(map(_fine, [*self.verdicts.values(), *timed]))

    @property
    def competes(self) -> bool:
        """Whether it manages the context by tokens and without a model."""
        return self.entry.counts and not self.entry.asks and self.entry.name != "none"


def main(arguments: Sequence[str]) -> int:
    """Print the tables; 1 if ours is not ahead, with `--check`."""
    files = [Path(argument) for argument in arguments if not argument.startswith("-")]
    results = asyncio.run(_run(list(_entries()), _conversations(files)))
    shown = [one for one in results if one.package != OURS or one.entry.name in SHOWN or not one.fine]
    _print_versions()
    _print_judgements(shown)
    _print_prefill(shown)
    _print_times(shown)
    behind, slower = list(_behind(results)), list(_slower(results))
    print("\n" + "\n".join([f"not ahead: {line}" for line in behind] or ["ours is ahead"]))
    print("".join(f"slower than the fastest: {line}\n" for line in slower), end="")
    return 1 if behind and "--check" in arguments else 0


def _entries() -> Iterator[tuple[str, Entry]]:
    for package, module in PACKAGES.items():
        try:
            rival = import_module(f"benchmarks.rivals.{module}")
        except ModuleNotFoundError as error:
            print(f"without {package}: {error}; to have it beside ours: pip install -e '.[peers]'", file=sys.stderr)
            continue
        yield from ((package, entry) for entry in rival.entries())


# --- measuring --------------------------------------------------------------------------------------------------------


def _conversations(files: Sequence[Path]) -> dict[str, list[list[list[Message]]]]:
    """The histories at the calls of each conversation, by the name of the list."""
    made = {name: [list(calls_of(messages))] for name, messages in lists().items()}
    if files:
        budget = Budget(BUDGET, TinyCounter())
        runs = read_trajectories(files)[::EACH]
        calls = [[list(run.messages[:at]) for at in run.calls] for run in runs]
        made["recorded"] = [[history for history in run if can_be_sent(history, budget)] for run in calls]
    return made


async def _run(
    entries: Sequence[tuple[str, Entry]], conversations: dict[str, list[list[list[Message]]]]
) -> list[Result]:
    """Run all entries in one event loop, so that an `await` costs the same as in an agent."""
    results = [Result(package, entry) for package, entry in entries]
    for result in results:
        for name, each in conversations.items():
            result.verdicts[name] = [verdict for calls in each for verdict in await _told(result.entry, calls)]
    for length, steps in LENGTHS.items():
        clocks = {result.name: Clock() for result in results}
        for number in range(MOST_SESSIONS):
            messages = _unseen(steps + MORE_TURNS, number)
            for result in results:  # in turns, so that other work of the machine slows all equally
                clock = clocks[result.name]
                if clock.spent < MOST_SECONDS:
                    await _timed(result.entry, messages, length, clock)
        for result in results:
            result.timings[length] = clocks[result.name].timing
    return results


async def _told(entry: Entry, calls: Iterable[Sequence[Message]]) -> list[Verdict]:
    """The verdicts on a conversation, call by call."""
    session, before, heard, verdicts = entry.start(), list[Message](), 0, []
    for history in calls:
        session.hear(history[heard:])
        heard = len(history)
        view = session.read(await session.call())
        verdicts.append(judge(view, history, before))
        before = view
    return verdicts


async def _timed(entry: Entry, messages: Sequence[Message], length: int, clock: Clock) -> None:
    """Time a conversation that starts at this length."""
    session, heard, milliseconds = entry.start(), 0, list[float]()
    for stop in range(length, len(messages) + 1, 2):
        session.hear(messages[heard:stop])
        heard = stop
        try:
            with _patience():
                begun = perf_counter()
                view = await session.call()
                milliseconds.append((perf_counter() - begun) * 1000)
        except TimeoutError:
            clock.spent = inf
            break
        if not clock.taken:
            clock.verdicts.append(judge(session.read(view), messages[:stop]))
        clock.spent += milliseconds[-1] / 1000
        if clock.spent > 2 * MOST_SECONDS:
            break
    if not clock.taken or len(milliseconds) == len(clock.taken[0]):
        clock.taken.append(milliseconds)
    clock.holds = len(session.read(session.messages))


def _unseen(steps: int, number: int) -> list[Message]:
    """A new conversation, so that no cache can know it."""
    return [replace(message, content=f"{number} {message.content}") for message in react_history(steps)]


@contextmanager
def _patience() -> Iterator[None]:
    def give_up(*_: object) -> None:
        raise TimeoutError

    signal(SIGPROF, give_up)
    setitimer(ITIMER_PROF, PATIENCE)
    try:
        yield
    finally:
        setitimer(ITIMER_PROF, 0)


# --- tables -----------------------------------------------------------------------------------------------------------


def _print_versions() -> None:
    installed = []
    for package in (*PACKAGES, *BESIDE):
        try:
            installed.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            installed.append(f"{package} not installed" if package != OURS else package)
    print(f"Python {python_version()}, {', '.join(installed)}")


def _print_judgements(results: Sequence[Result]) -> None:
    names = [f"{name} ({len(verdicts)})" for name, verdicts in results[0].verdicts.items()]
    print(f"\nCalls that went wrong, of so many; budget {BUDGET:,}\n")
    _print_head(["strategy", *names, *(f"{length:,} messages" for length in LENGTHS)], "---|" * (1 + len(names) + 2))
    for result in results:
        told = [*result.verdicts.values(), *(timing.verdicts for timing in result.timings.values())]
        print(f"| {result.name} | {' | '.join(map(_wrongs, told))} |")


def _wrongs(verdicts: Sequence[Verdict]) -> str:
    counts = {
        "invalid": sum(bool(verdict.faults) for verdict in verdicts),
        "over": sum(verdict.over for verdict in verdicts),
        "unread": sum(verdict.unread for verdict in verdicts),
    }
    return ", ".join(f"{count} {what}" for what, count in counts.items() if count) or ("0" if verdicts else "–")


def _print_prefill(results: Sequence[Result]) -> None:
    names = list(results[0].verdicts)
    print("\nPrefill in tokens, of the prompt tokens of all calls; in brackets if calls went wrong\n")
    _print_head(["strategy", *names], "---|" + "--:|" * len(names))
    for result in results:
        cells = []
        for verdicts in result.verdicts.values():
            cell = f"{_prefill(verdicts):,} of {_tokens(verdicts):,}"
            cells.append(cell if _fine(verdicts) else f"({cell})")
        print(f"| {result.name} | {' | '.join(cells)} |")


def _print_times(results: Sequence[Result]) -> None:
    heads = [f"{length:,} {what}" for length in LENGTHS for what in ("cold ms", "next ms", "holds")]
    print("\nMilliseconds a call\n")
    _print_head(["strategy", *heads], "---|" + "--:|" * len(heads))
    for result in results:
        cells = []
        for timing in result.timings.values():
            following = "–" if timing.next is None else f"{timing.next:,.2f}"
            cold = f"{timing.cold:,.2f}" if timing.cold < inf else f"over {PATIENCE * 1000:,.0f}"
            cells += [cold, following, f"{timing.holds:,}"]
        print(f"| {result.name} | {' | '.join(cells)} |")


def _print_head(names: Sequence[str], rule: str) -> None:
    print(f"| {' | '.join(names)} |\n|{rule}")


# --- who is ahead -----------------------------------------------------------------------------------------------------


def _behind(results: Sequence[Result]) -> Iterator[str]:
    """The reasons why ours is not ahead, one line each."""
    ours = [result for result in results if result.package == OURS and result.entry.name != "none"]
    for result in ours:
        told = {**result.verdicts, **{f"{length:,} messages": t.verdicts for length, t in result.timings.items()}}
        yield from (f"{result.name}, {name}: {_wrongs(v)}" for name, v in told.items() if not _fine(v))
    mine = [result for result in ours if result.competes]
    yield from _more_prefill(mine, [result for result in results if result.package != OURS and result.competes])
    lines = list(_slower(results))
    for what in dict.fromkeys(line.split(":")[0] for line in lines):
        named = [line for line in lines if line.startswith(f"{what}:")]
        yield from named if len(named) == len(mine) else []


def _more_prefill(ours: Sequence[Result], peers: Sequence[Result]) -> Iterator[str]:
    for name in ours[0].verdicts:
        best = min((result.verdicts[name] for result in ours), key=_prefill)
        for peer in peers:
            verdicts = peer.verdicts[name]
            if _fine(verdicts) and _prefill(verdicts) < _prefill(best) and _tokens(verdicts) >= _tokens(best):
                yield f"{name}: {peer.name} has {_prefill(verdicts):,} tokens of prefill, ours {_prefill(best):,}"


def _slower(results: Sequence[Result]) -> Iterator[str]:
    """Our strategies that are slower than the fastest valid peer, one line each."""
    rivals = [result for result in results if result.competes]
    for length in LENGTHS:
        timings = [(result, result.timings[length]) for result in rivals]
        valid = [(result, timing) for result, timing in timings if not any(one.faults for one in timing.verdicts)]
        holding = [(result, timing) for result, timing in valid if timing.holds >= length]
        cold = [(timing.cold, result) for result, timing in valid]
        following = [(timing.next, result) for result, timing in holding if timing.next is not None]
        for what, taken in (("cold", cold), ("next", following)):
            peers = [(took, result) for took, result in taken if result.package != OURS]
            fastest, peer = min(peers, key=lambda pair: pair[0], default=(inf, None))
            for took, result in taken:
                if peer and result.package == OURS and took > fastest:
                    yield f"{length:,} {what}: {result.name} {took:.2f} ms, {peer.name} {fastest:.2f}"


def _prefill(verdicts: Sequence[Verdict]) -> int:
    return sum(verdict.prefill for verdict in verdicts)


def _tokens(verdicts: Sequence[Verdict]) -> int:
    return sum(verdict.tokens for verdict in verdicts)


def _fine(verdicts: Sequence[Verdict]) -> bool:
    return not any(verdict.faults or verdict.over or verdict.unread for verdict in verdicts)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
