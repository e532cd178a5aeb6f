"""The transcript of a session from its journal: exchanges, their calls, and the messages sent in each call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby, takewhile
from typing import TYPE_CHECKING, Any

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
from thimble.repl.screen.footer import FROM_MEMORY
from thimble.repl.screen.trace import unread
from thimble.session.journal.records import Aside, Branched, Change, Command, Record, Resumed, Switched, Toured
from thimble.session.journal.state import SavedState
from thimble.session.journal.tree import Tree

if TYPE_CHECKING:
    from thimble.agent.view import View
    from thimble.session.session import Session

IDLE = (Branched, Switched, Resumed, Toured)
"""Records that change nothing in a session by themselves."""


@dataclass
class ModelCall:
    """A model call. `at` is its time in seconds since 1970; fields without a value are None.

    `asides` are what its strategy and its tools asked a model.
    """

    number: int
    exchange: int
    at: float
    prepared: Prepared
    replied: Replied | None = None
    account: Call | None = None
    returned: list[ToolReturned] = field(default_factory=list)
    asides: list[SideCalled] = field(default_factory=list)

    @property
    def cached(self) -> Amount:
        """What of its prompt was cached: as the ledger has it, without a reply as it is expected."""
        return self.account.cached if self.account else Amount(self.prepared.view.cached, exact=False)


@dataclass
class Exchange:
    """A question and what came of it: the `ending`, and what `Answered` says of the answer.

    It was asked behind line `after` of the journal. `asides` belong to no call that was made. A planted fact stands as
    an exchange of number 0.
    """

    number: int
    at: float
    question: Message
    ending: str = "unfinished"
    answer: str = ""
    from_memory: bool = False
    invented: Sequence[str] = ()
    until: float = 0.0
    after: int = 0
    planted: str = ""
    calls: list[ModelCall] = field(default_factory=list)
    asides: list[SideCalled] = field(default_factory=list)


@dataclass
class Transcript:
    """One branch. `past` is the session after its last line, `damaged` the number of unreadable lines.

    `parent` is the branch that it grew from, 0 for none.

    `calls` are all model calls in order, but those of strategies and tools.
    """

    past: SavedState
    exchanges: list[Exchange]
    branch: int
    branches: int
    damaged: int
    parent: int = 0
    calls: list[ModelCall] = field(default_factory=list)


def grounds(of: Exchange) -> list[str]:
    """What there is to say against an answer: that it is from memory, that it cites what was never read."""
    return [FROM_MEMORY] * of.from_memory + [unread(of.invented)] * bool(of.invented)


def transcripts(session: Session) -> list[Transcript]:
    """The transcript of each branch on which something was asked, the one in use first, then the newest first.

    Raises:
        UsageError: nothing was asked on any.
    """
    lines, damaged = session.journal.read()
    tree = Tree(lines)
    numbers = sorted(tree.branches, key=lambda number: (number != tree.current, -number))
    told = [one for one in (transcript(tree, number, len(damaged)) for number in numbers) if one.exchanges]
    if not told:
        raise UsageError("there is nothing to export yet", "ask something first")
    return told


def transcript(tree: Tree, number: int, damaged: int = 0, whole: bool = True) -> Transcript:
    """The transcript of a branch. With `whole` off a view has its figures only."""
    told = Transcript(SavedState(), [], number, len(tree.branches), damaged, tree.branches[number].parent)
    before = 0
    for line in tree.path(number):
        record = told.past.read(line, whole)
        take(told, record, line.at, before)
        before = before if isinstance(record, IDLE) else line.number
    return told


def shared(one: Transcript, other: Transcript) -> int:
    """How many exchanges both branches begin with."""
    pairs = zip(one.exchanges, other.exchanges, strict=False)
    return sum(
        1 for _ in takewhile(lambda pair: (pair[0].at, pair[0].question) == (pair[1].at, pair[1].question), pairs)
    )


def take(told: Transcript, record: Record, at: float, before: int = 0) -> None:
    """Go on by one record, which `past` has taken already; the line `before` is the last that changed something."""
    exchange = told.exchanges[-1] if told.exchanges else None
    match record:
        case Asked(message):
            told.exchanges.append(Exchange(told.past.ledger.exchanges, at, message, after=before))
        case Planted():
            asked, *_, answer = record.messages
            told.exchanges.append(Exchange(0, at, asked, "planted", answer.content, after=before, planted=record.fact))
        case _ if exchange is not None:
            _go_on(told, exchange, record, at)
    if told.exchanges and not isinstance(record, Change | Command | Aside):
        told.exchanges[-1].until = at


def _go_on(told: Transcript, exchange: Exchange, record: Record, at: float) -> None:
    call = exchange.calls[-1] if exchange.calls else None
    match record:
        case Prepared():
            told.calls.append(ModelCall(len(told.calls) + 1, exchange.number, at, record, asides=exchange.asides))
            exchange.calls.append(told.calls[-1])
            exchange.asides = []
        case Replied() if call and told.past.ledger.calls:
            call.replied, call.account = record, told.past.ledger.calls[-1]
        case PromptCut() if call and call.account:
            call.account = told.past.ledger.last
        case ToolReturned() if call:
            call.returned.append(record)
            call.asides += exchange.asides
            exchange.asides = []
        case SideCalled():
            exchange.asides.append(record)
        case Answered(text, ending):
            exchange.answer, exchange.ending = text, ending
            exchange.from_memory, exchange.invented = record.from_memory, record.invented
        case Cancelled():
            exchange.ending = "cancelled"
        case QuestionWithdrawn():
            exchange.ending = "withdrawn"


def difference(before: Sequence[Any], after: Sequence[Any]) -> list[Any]:
    """The new part: [items shared at the start, the items between, items shared at the end]."""
    most = min(len(before), len(after))
    start = next((at for at in range(most) if before[at] != after[at]), most)
    most -= start
    end = next((at for at in range(most) if before[-1 - at] != after[-1 - at]), most)
    return [start, after[start : len(after) - end], end]


class Differences:
    """Remembers lists by name, and gives the new part of each against its last version."""

    def __init__(self) -> None:
        self._told: dict[str, Sequence[Any]] = {}

    def new(self, name: str, listed: Sequence[Any]) -> list[Any]:
        """The new part of the list of this name."""
        before, self._told[name] = self._told.get(name, ()), listed
        return difference(before, listed)


def left_out(view: View) -> list[tuple[str, int]]:
    """Why each dropped message is not there, in order: the reason, and how many in a row have it."""
    dropped = (one for one, fate in view.fated if fate == "dropped")
    return [(why, len([*same])) for why, same in groupby(view.left_out.get(one.id, "") for one in dropped)]
