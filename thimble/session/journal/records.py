"""The records of a session file that are not events of the loop."""

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
"""The types of a setting's value."""


@dataclass(frozen=True, slots=True)
class Opened:
    """The first line: the version of the format, the id of the session, and its settings at the start.

    `settings` are those that affect a request, including those of `Changed`; none of them is a secret. `one_shot`: its
    prompts were given beforehand, with -p or through a pipe. `run`: the agent whose recorded run it is.
    """

    version: int
    id: str
    settings: Mapping[str, Value]
    one_shot: bool = False
    run: str = field(default="", metadata={"if_set": True})

    @property
    def changes(self) -> list[events.Changed]:
        """Its settings that can change while a session runs. Raises ValueError for an impossible value."""
        found = ((name, self.settings[name]) for name in events.CHANGEABLE if name in self.settings)
        return [events.Changed(name, value) for name, value in found]  # type: ignore[arg-type]  # it checks

    def __post_init__(self) -> None:
        _ = self.changes


@dataclass(frozen=True, slots=True)
class Resumed:
    """The journal was reopened. A line before it without an end was cut off when its writer died."""


@dataclass(frozen=True, slots=True)
class Named:
    """The session has a name."""

    name: str


@dataclass(frozen=True, slots=True)
class Toured:
    """The session is on this tour ("" for none), with `step` steps done. It holds for all branches."""

    tour: str
    step: int


@dataclass(frozen=True, slots=True)
class Branched:
    """The next lines belong to a new branch, which starts from the state after line `after` (counted from 1)."""

    branch: int
    after: int


@dataclass(frozen=True, slots=True)
class Switched:
    """The next lines belong to this existing branch."""

    branch: int


@dataclass(frozen=True, slots=True)
class Command:
    """The user typed this command."""

    text: str


@dataclass(frozen=True, slots=True)
class Aside:
    """A command asked a model in a copy of the session: `asked` is its question, `came` the outcome, as JSON."""

    asked: tuple[str, ...]
    came: Any


@dataclass(frozen=True, slots=True)
class Unanswered:
    """The exchange ended without an answer: by an error of this class, or "" if the user stopped it.

    `figures` are the needed and the available tokens of a BudgetError.
    """

    error: str = ""
    what: str = ""
    fix: str = ""
    figures: tuple[int, ...] = ()


Change = Opened | Resumed | events.Changed | Override | Named | Toured | Branched | Switched
"""Records that change a session between its exchanges."""
Remark = Command | Aside | Unanswered
"""Records that are needed to play a session, but not to resume it."""
Record = events.Entry | Opened | Resumed | Named | Toured | Branched | Switched | Remark
"""Every record that can be written."""
RECORD_TYPES: dict[str, type] = {
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
"""The record class of each `type` of a line."""
