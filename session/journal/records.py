"""What a journal holds beside the events of a session, and the form in which two of these are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent import events
from agent.fates import Fate
from agent.messages import Message
from agent.protocols import Waiting
from session.journal.deltas import TextDelta

VERSION = 3
"""3 has calls in the background, and says when a call began; 2 has remarks; 1 has none of this."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The first line: the version of the form, which session it is, and what it began with.

    `settings` are those that shape what a model is sent; none of them is a secret. `one_shot` says that its prompts
    were given beforehand, with -p or through a pipe.
    """

    version: int
    id: str
    system: str
    strategy: str
    limit: int
    backend: str
    model: str
    settings: Mapping[str, str | bool | int | float]
    one_shot: bool = False


@dataclass(frozen=True, slots=True)
class Resumed:
    """Somebody opened the journal again. A line before it that has no end was cut off when its writer died."""


@dataclass(frozen=True, slots=True)
class Named:
    """The session has a name."""

    name: str


@dataclass(frozen=True, slots=True)
class Branched:
    """What follows belongs to a new branch, which begins as the session was behind line `after` (counted from 1)."""

    branch: int
    after: int


@dataclass(frozen=True, slots=True)
class Switched:
    """What follows belongs to this branch, which there is already."""

    branch: int


NO_TEXT = TextDelta("")


@dataclass(frozen=True, slots=True)
class PreparedLine:
    """`Prepared` as it is written: what hardly changes from call to call are deltas of JSON.

    `listing` is a list: the id of a message that is sent as it is in the history, the id and a checksum of any other,
    which is among the `copies` of this line or of one before. `fates` is a list of fates, each with how often it comes
    in a row. `steps` has by id those of `View.steps` that name who changed a message that is sent.
    """

    turn: int
    strategy: str
    model: str
    exact: bool
    tools: TextDelta
    listing: TextDelta
    fates: TextDelta
    tokens: int
    history_tokens: int
    limit: int
    overhead: int
    cached: int
    prefill: int
    edited: bool
    acted: Mapping[Fate, int]
    notes: tuple[str, ...]
    warm: bool
    left_out: TextDelta
    copies: tuple[Message, ...] = ()
    without: int = 0
    steps: TextDelta = NO_TEXT
    sizes: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class SentLine:
    """`Sent` as it is written."""

    to: str
    body: TextDelta


@dataclass(frozen=True, slots=True)
class Command:
    """The user typed this command."""

    text: str


@dataclass(frozen=True, slots=True)
class Aside:
    """A command asked a model in a copy of the session: `asked` says what, `came` is the outcome, as JSON."""

    asked: tuple[str, ...]
    came: Any


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The exchange ended without an answer: by an error of this class, or "" where the user stopped it.

    `figures` are the needed and the available tokens of a BudgetError.
    """

    error: str = ""
    what: str = ""
    fix: str = ""
    figures: tuple[int, ...] = ()


Change = (
    Opened
    | Resumed
    | events.StrategyChanged
    | events.TidyChanged
    | events.BudgetChanged
    | events.ModelChanged
    | events.SystemChanged
    | Named
    | Branched
    | Switched
)
"""What changes a session beside its exchanges."""
Remark = Command | Aside | Unanswered
"""What a session needs to be played, and not to go on."""
Record = events.Entry | Opened | Resumed | Named | Branched | Switched | Remark
"""All that can be written."""
Stored = Record | PreparedLine | SentLine
"""All that can stand on a line: `Prepared` and `Sent` stand there as `PreparedLine` and `SentLine`."""

KINDS: dict[str, type] = {
    "opened": Opened,
    "resumed": Resumed,
    "swapped": events.StrategyChanged,
    "tidied": events.TidyChanged,
    "limited": events.BudgetChanged,
    "remodelled": events.ModelChanged,
    "told": events.SystemChanged,
    "named": Named,
    "branched": Branched,
    "switched": Switched,
    "asked": events.Asked,
    "preparing": events.Preparing,
    "side_began": events.SideBegan,
    "side_called": events.SideCalled,
    "prepared": PreparedLine,
    "sent": SentLine,
    "waiting": Waiting,
    "said": events.Said,
    "replied": events.Replied,
    "broken_off": events.BrokenOff,
    "prompt_cut": events.PromptCut,
    "tool_called": events.ToolCalled,
    "tool_returned": events.ToolReturned,
    "answered": events.Answered,
    "withdrawn": events.Withdrawn,
    "set_aside": events.SetAside,
    "cancelled": events.Cancelled,
    "planted": events.Planted,
    "command": Command,
    "aside": Aside,
    "unanswered": Unanswered,
}
"""What each `type` of a line is."""
