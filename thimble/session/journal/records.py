"""What a session file holds beside the events of a session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from thimble.agent import events
from thimble.agent.override import Override
from thimble.agent.protocols import Sent, Waiting

VERSION = 5
"""Journals of another version are not read."""
Value = str | bool | int | float
"""What a setting can be."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The first line: the version of the form, which session it is, and what it began with.

    `settings` are those that shape what a model is sent, those of `Changed` among them; none of them is a secret.
    `one_shot` says that its prompts were given beforehand, with -p or through a pipe. `run`: whose recorded run it is.
    """

    version: int
    id: str
    settings: Mapping[str, Value]
    one_shot: bool = False
    run: str = field(default="", metadata={"if_set": True})

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


Change = Opened | Resumed | events.Changed | Override | Named | Toured | Branched | Switched
"""What changes a session beside its exchanges."""
Remark = Command | Aside | Unanswered
"""What a session needs to be played, and not to go on."""
Record = events.Entry | Opened | Resumed | Named | Toured | Branched | Switched | Remark
"""All that can be written."""
KINDS: dict[str, type] = {
    "opened": Opened,
    "resumed": Resumed,
    "changed": events.Changed,
    "override": Override,
    "named": Named,
    "toured": Toured,
    "branched": Branched,
    "switched": Switched,
    "asked": events.Asked,
    "put_in": events.PutIn,
    "preparing": events.Preparing,
    "side_began": events.SideBegan,
    "side_called": events.SideCalled,
    "prepared": events.Prepared,
    "sent": Sent,
    "waiting": Waiting,
    "reply_piece": events.ReplyPiece,
    "replied": events.Replied,
    "reply_cancelled": events.ReplyCancelled,
    "prompt_cut": events.PromptCut,
    "tool_called": events.ToolCalled,
    "tool_returned": events.ToolReturned,
    "answered": events.Answered,
    "question_withdrawn": events.QuestionWithdrawn,
    "reply_discarded": events.ReplyDiscarded,
    "cancelled": events.Cancelled,
    "planted": events.Planted,
    "command": Command,
    "aside": Aside,
    "unanswered": Unanswered,
}
"""What each `type` of a line is."""
