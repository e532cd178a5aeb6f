"""What happens in an exchange, one frozen event each: the terminal renders them, the ledger adds them up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agent.messages import Message, Schema, ToolCall
from agent.protocols import Sent, Usage, Waiting
from agent.view import View

Ending = Literal["answered", "turn-limit", "thought", "empty"]


@dataclass(frozen=True, slots=True)
class Asked:
    """The user's message is in the history."""

    message: Message


@dataclass(frozen=True, slots=True)
class Preparing:
    """The strategy starts to work on the view; with a model to ask, that can take a while."""

    turn: int
    strategy: str
    limit: int


@dataclass(frozen=True, slots=True)
class SideCalled:
    """A strategy or a tool asked a model, beside the conversation. `error` is empty unless the call failed."""

    purpose: str
    prompt_tokens: int
    exact: bool
    usage: Usage
    seconds: float
    error: str = ""
    model: str = ""
    waited_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Prepared:
    """The view is made and is about to be sent, with these tools. `exact` says how its tokens were counted."""

    turn: int
    strategy: str
    model: str
    view: View
    exact: bool
    tools: Sequence[Schema] = ()


@dataclass(frozen=True, slots=True)
class Said:
    """A piece of the reply, as it streams."""

    kind: Literal["text", "thinking"]
    text: str


@dataclass(frozen=True, slots=True)
class Replied:
    """The reply is complete and in the history. Of its seconds `waited_seconds` went by before the server computed."""

    turn: int
    message: Message
    usage: Usage
    seconds: float
    first_token_seconds: float | None
    waited_seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class PromptCut:
    """The server read so much less than it was sent that it must have cut the prompt. Tokens."""

    turn: int
    sent: int
    read: int
    exact: bool


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """A tool is about to run."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """A tool's result is in the history; `tokens` is what it costs in a prompt, counted by us."""

    call: ToolCall
    message: Message
    tokens: int
    exact: bool
    seconds: float
    ok: bool


@dataclass(frozen=True, slots=True)
class Answered:
    """The exchange is over. `ending` says whether the model came to its answer by itself.

    "thought" is an empty answer, all of whose tokens went into thinking.
    """

    text: str
    ending: Ending


@dataclass(frozen=True, slots=True)
class Withdrawn:
    """The question could not be put to a model at all: it is out of the history again. Nobody waits for this event."""

    message: Message


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The exchange was broken off: each call that had no result yet has got one that says so. Nobody waits for it."""

    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Planted:
    """A fact was put into the history without asking a model, as the one line of a file that was read.

    `messages` are the exchange that holds it: question, call, result, answer. `path` is what the file is called there.
    """

    fact: str
    path: str
    messages: tuple[Message, ...]

    @property
    def holder(self) -> Message:
        """The result that holds the fact; no other message does."""
        return next(message for message in self.messages if message.role == "tool")


Event = (
    Asked
    | Preparing
    | SideCalled
    | Prepared
    | Sent
    | Waiting
    | Said
    | Replied
    | PromptCut
    | ToolCalled
    | ToolReturned
    | Answered
    | Planted
)
Entry = Event | Withdrawn | Cancelled
"""What is entered in the ledger and on record: the events, and what is settled when nobody waits for one any more."""
