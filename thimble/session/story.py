"""The story of a branch: its exchanges, each a question with the model calls and their results up to the answer.

Screens, exports and the live page read this; none of them reads the lines of a journal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from thimble.agent.errors import UsageError
from thimble.agent.events import (
    Answered,
    Asked,
    Cancelled,
    Planted,
    Prepared,
    PromptCut,
    QuestionWithdrawn,
    Replied,
    SideCalled,
    ToolReturned,
)
from thimble.agent.ledger import Amount, Call
from thimble.agent.messages import Message
from thimble.session.journal.lines import Damage, Line
from thimble.session.journal.records import Aside, Branched, Change, Command, Record, Resumed, Switched, Toured
from thimble.session.journal.state import SavedState
from thimble.session.journal.tree import Tree

IDLE = (Branched, Switched, Resumed, Toured)
"""Records that change nothing in a session by themselves."""


class Recorded(NamedTuple):
    """A record, the number of its line, and its time in seconds since 1970.

    `spent`: the model call that it is about, as it was known then; None if it is about none, or costs are left out.
    """

    number: int
    at: float
    record: Record
    spent: Call | None = None


@dataclass
class ModelCall:
    """A model call with the results of the tools that it asked for; fields without a value are None.

    `spent`: what it cost; None without a reply. `asides`: what its strategy and its tools asked a model.
    """

    prepared: Prepared
    asides: list[SideCalled]
    reply: Replied | None = None
    spent: Call | None = None
    results: list[ToolReturned] = field(default_factory=list)

    @property
    def cached(self) -> Amount:
        """What of its prompt was cached: as the ledger has it, without a reply as it is expected."""
        return self.spent.cached if self.spent else Amount(self.prepared.view.cached, exact=False)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question, or a planted fact with the number 0, and all records up to the next one.

    `after` is the line behind which it was asked: the last one before it that changed something. `first_call`: how many
    model calls the exchanges before it have.
    """

    number: int
    question: Message
    after: int
    first_call: int
    records: list[Recorded]

    @property
    def at(self) -> float:
        """When it was asked, in seconds since 1970."""
        return self.records[0].at

    @property
    def until(self) -> float:
        """When its last event happened."""
        return next(one.at for one in reversed(self.records) if not isinstance(one.record, Change | Command | Aside))

    @property
    def planted(self) -> Planted | None:
        """The fact that was planted; None for a question."""
        first = self.records[0].record
        return first if isinstance(first, Planted) else None

    @property
    def answered(self) -> Answered:
        """The answer, and what is known of its grounds; an empty one if there was none."""
        given = Answered(self.planted.messages[-1].content if self.planted else "", "answered")
        return next((one.record for one in reversed(self.records) if isinstance(one.record, Answered)), given)

    @property
    def ending(self) -> str:
        """How it ended: as `Answered` has it, or planted, cancelled, withdrawn or unfinished."""
        for one in reversed(self.records):
            match one.record:
                case Answered(ending=ending):
                    return ending
                case Cancelled():
                    return "cancelled"
                case QuestionWithdrawn():
                    return "withdrawn"
        return "planted" if self.planted else "unfinished"

    @property
    def calls(self) -> list[ModelCall]:
        """Its model calls, but those of strategies and tools."""
        calls: list[ModelCall] = []
        asides: list[SideCalled] = []
        for _, _, record, spent in self.records:
            match record:
                case SideCalled():
                    asides.append(record)
                case Prepared():
                    calls.append(ModelCall(record, asides))
                    asides = []
                case Replied() if calls:
                    calls[-1].reply, calls[-1].spent = record, spent
                case PromptCut() if calls and calls[-1].reply:
                    calls[-1].spent = spent
                case ToolReturned() if calls:
                    calls[-1].results.append(record)
                    calls[-1].asides += asides
                    asides = []
        return calls


def exchanges(records: Iterable[Recorded]) -> list[Exchange]:
    """The exchanges in the records of a branch, which are given from the first one on."""
    found: list[Exchange] = []
    asked = after = calls = 0
    for one in records:
        match one.record:
            case Asked(message):
                asked += 1
                found.append(Exchange(asked, message, after, calls, [one]))
            case Planted(messages=messages):
                found.append(Exchange(0, messages[0], after, calls, [one]))
            case record if found:
                found[-1].records.append(one)
                calls += isinstance(record, Prepared)
        if not isinstance(one.record, IDLE):
            after = one.number
    return found


def turn_lines(lines: Iterable[Line], place: str) -> range:
    """The lines of a model call, from its view to its last result; `place` is EXCHANGE.TURN, as in 3.2.

    Raises:
        UsageError: there is no such call.
    """
    exchange, first, last, after = 0, 0, 0, False
    for line in lines:
        match line.record:
            case Asked():
                exchange, after = exchange + 1, bool(first)
            case Prepared(turn=turn):
                after = bool(first)
                first = first or (line.number if f"{exchange}.{turn}" == place else 0)
            case Replied() | ToolReturned() if first and not after:
                last = line.number
        if after:
            break
    if not last:
        raise UsageError(f"there is no call {place}", "write EXCHANGE.TURN, as in 3.2; /stats numbers the exchanges")
    return range(first, last + 1)


def records(lines: Iterable[Line]) -> Iterator[Recorded]:
    """The records of these lines, without costs; a view has its figures only."""
    return (Recorded(line.number, line.at, line.record) for line in lines)


@dataclass
class Story:
    """A branch with all that was recorded on the way to where it is now.

    `past` is the session after the last record, `tree` has all branches, `damaged` are the numbers of unreadable lines.
    """

    branch: int
    tree: Tree
    damaged: Sequence[int] = ()
    past: SavedState = field(default_factory=SavedState)
    records: list[Recorded] = field(default_factory=list)

    @property
    def exchanges(self) -> list[Exchange]:
        """Its exchanges, in order."""
        return exchanges(self.records)

    def read(self, line: Line, whole: bool = True) -> None:
        """Go on by one line; with `whole` off a view has its figures only."""
        self._keep(line.number, line.at, self.past.read(line, whole))

    def add(self, number: int, at: float, record: Record) -> None:
        """Go on by a record that was just written."""
        self.past.go_on(record)
        self._keep(number, at, record)

    def _keep(self, number: int, at: float, record: Record) -> None:
        self.records.append(Recorded(number, at, record, self.past.ledger.call_of(record)))


def stories(lines: Iterable[Line], damaged: Iterable[Damage] = (), whole: bool = True) -> Iterator[Story]:
    """The story of each branch of a journal: the one in use first, then the newest first."""
    tree, lost = Tree(lines), [one.number for one in damaged]
    for number in sorted(tree.branches, key=lambda number: (number != tree.current, -number)):
        story = Story(number, tree, lost)
        for line in tree.path(number):
            story.read(line, whole)
        yield story
