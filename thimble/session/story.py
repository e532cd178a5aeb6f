"""The story of a branch: its exchanges, each a question with the model calls and their results up to the answer.

Screens, exports and the live page read it instead of the lines of a journal.
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

IdleRecord = (Branched, Switched, Resumed, Toured)
"""Records that by themselves change nothing in a session."""


class Recorded(NamedTuple):
    """A record, the number of its line, and its time in seconds since 1970.

    `spent`: the model call that it belongs to, as known then; None if it belongs to no call, or without costs.
    """

    number: int
    at: float
    record: Record
    spent: Call | None = None


@dataclass
class ModelCall:
    """A model call with the results of the tools that it asked for; fields without a value are None.

    `spent`: its cost; None without a reply. `asides`: the side calls of its strategy and its tools.
    """

    prepared: Prepared
    asides: list[SideCalled]
    reply: Replied | None = None
    spent: Call | None = None
    results: list[ToolReturned] = field(default_factory=list)

    @property
    def cached(self) -> Amount:
        """The cached tokens of its prompt: from the ledger, or as expected if there is no reply."""
        return self.spent.cached if self.spent else Amount(self.prepared.view.cached, exact=False)


@dataclass(frozen=True, slots=True)
class Exchange:
    """A question, or a planted fact with the number 0, and all records up to the next one.

    `after` is the line after which it was asked: the last one before it that changed something. `first_call`: the
    number of model calls in the exchanges before it.
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
        """The answer with its sources; an empty one if there was none."""
        given = Answered(self.planted.messages[-1].content if self.planted else "", "answered")
        return next((one.record for one in reversed(self.records) if isinstance(one.record, Answered)), given)

    @property
    def ending(self) -> str:
        """How it ended: an ending of `Answered`, or planted, cancelled, withdrawn or unfinished."""
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
        """Its model calls, except those of strategies and tools."""
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


def group_exchanges(records: Iterable[Recorded]) -> list[Exchange]:
    """The exchanges in the records of a branch, which must start with its first one."""
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
        if not isinstance(one.record, IdleRecord):
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


def iter_records(lines: Iterable[Line]) -> Iterator[Recorded]:
    """The records of these lines, without costs; views have only their figures."""
    return (Recorded(line.number, line.at, line.record) for line in lines)


@dataclass
class Story:
    """A branch with all records that lead to its present state.

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
        return group_exchanges(self.records)

    def read(self, line: Line, whole: bool = True) -> None:
        """Add a line; with `whole` off, views have only their figures."""
        self._keep(line.number, line.at, self.past.read(line, whole))

    def add(self, number: int, at: float, record: Record) -> None:
        """Add a record that was just written."""
        self.past.apply_record(record)
        self._keep(number, at, record)

    def _keep(self, number: int, at: float, record: Record) -> None:
        self.records.append(Recorded(number, at, record, self.past.ledger.call_of(record)))


def read_stories(lines: Iterable[Line], damaged: Iterable[Damage] = (), whole: bool = True) -> Iterator[Story]:
    """The story of each branch of a journal: the one in use first, then the newest first."""
    tree, lost = Tree(lines), [one.number for one in damaged]
    for number in sorted(tree.branches, key=lambda number: (number != tree.current, -number)):
        story = Story(number, tree, lost)
        for line in tree.path(number):
            story.read(line, whole)
        yield story
