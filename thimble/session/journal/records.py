"""What a journal holds beside the events of a session, and the form in which a view is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thimble.agent import events
from thimble.agent.fates import Fate
from thimble.agent.messages import Message
from thimble.agent.protocols import ModelId, Sent, Waiting
from thimble.agent.steps import ViewStep

VERSION = 4
"""Journals of another version are not read."""
Value = str | bool | int | float
"""What a setting can be."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The first line: the version of the form, which session it is, and what it began with.

    `settings` are those that shape what a model is sent, those of `Changed` among them; none of them is a secret.
    `one_shot` says that its prompts were given beforehand, with -p or through a pipe.
    """

    version: int
    id: str
    settings: Mapping[str, Value]
    one_shot: bool = False

    @property
    def changes(self) -> list[events.Changed]:
        """Its settings that change while a session runs. Raises ValueError where one cannot be that."""
        found = ((name, self.settings[name]) for name in events.CHANGEABLE if name in self.settings)
        return [events.Changed(name, value) for name, value in found]  # type: ignore[arg-type]  # it checks

    def __post_init__(self) -> None:
        _ = self.changes


@dataclass(frozen=True, slots=True)
class Resumed:
    """Somebody opened the journal again. A line before it that has no end was cut off when its writer died."""


@dataclass(frozen=True, slots=True)
class Named:
    """The session has a name."""

    name: str


@dataclass(frozen=True, slots=True)
class Toured:
    """The session is on this tour, with so many steps behind it; "" on none. It holds for all branches."""

    tour: str
    step: int


@dataclass(frozen=True, slots=True)
class Branched:
    """What follows belongs to a new branch, which begins as the session was behind line `after` (counted from 1)."""

    branch: int
    after: int


@dataclass(frozen=True, slots=True)
class Switched:
    """What follows belongs to this branch, which there is already."""

    branch: int


Name = tuple[str, int]
"""How a line names a copy: its id and a checksum."""


@dataclass(frozen=True, slots=True)
class PreparedLine:
    """`Prepared` as it is written: the figures of its view, and the copies in it that are on no line before."""

    turn: int
    strategy: str
    model: ModelId
    exact: bool
    tokens: int
    history_tokens: int
    limit: int
    overhead: int
    cached: int
    prefill: int
    edited: bool
    acted: Mapping[Fate, int]
    without: int
    notes: tuple[str, ...]
    warm: bool
    whole_cached: int
    sizes: tuple[tuple[str, int], ...]
    copies: tuple[Message, ...]


Listing = list[str | Name]
"""The messages of a view: the id of one that is sent as it is in the history, the `Name` of any other."""


@dataclass(frozen=True, slots=True)
class Fates:
    """What became of the messages of a history, in order, and why.

    `left_out` has the ids by the rule that left them out, `steps` by id those of `View.steps` that name who changed a
    message that is sent.
    """

    left_out: Mapping[str, tuple[str, ...]]
    steps: Mapping[str, tuple[ViewStep, ...]]
    fates: tuple[Fate, ...]


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


Change = Opened | Resumed | events.Changed | Named | Toured | Branched | Switched
"""What changes a session beside its exchanges."""
Remark = Command | Aside | Unanswered
"""What a session needs to be played, and not to go on."""
Record = events.Entry | Opened | Resumed | Named | Toured | Branched | Switched | Remark
"""All that can be written."""
Stored = Record | PreparedLine
"""All that can stand on a line: `Prepared` stands there as `PreparedLine`, and `Sent` without its body."""

KINDS: dict[str, type] = {
    "opened": Opened,
    "resumed": Resumed,
    "changed": events.Changed,
    "named": Named,
    "toured": Toured,
    "branched": Branched,
    "switched": Switched,
    "asked": events.Asked,
    "preparing": events.Preparing,
    "side_began": events.SideBegan,
    "side_called": events.SideCalled,
    "prepared": PreparedLine,
    "sent": Sent,
    "waiting": Waiting,
    "said": events.ReplyPiece,
    "replied": events.Replied,
    "broken_off": events.ReplyCancelled,
    "prompt_cut": events.PromptCut,
    "tool_called": events.ToolCalled,
    "tool_returned": events.ToolReturned,
    "answered": events.Answered,
    "withdrawn": events.QuestionWithdrawn,
    "set_aside": events.ReplyDiscarded,
    "cancelled": events.Cancelled,
    "planted": events.Planted,
    "command": Command,
    "aside": Aside,
    "unanswered": Unanswered,
}
"""What each `type` of a line is."""
