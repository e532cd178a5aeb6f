"""The events of an exchange, each frozen: the terminal renders them, the ledger adds them up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from thimble.agent.messages import Message, Schema, ToolCall
from thimble.agent.override import Override
from thimble.agent.protocols import UNKNOWN_MODEL, ModelId, Sent, Usage, Waiting
from thimble.agent.view import View

Stopper = Literal["", "thimble", "server"]
Ending = Literal["answered", "passages", "refused", "turn-limit", "thought", "empty"]


@dataclass(frozen=True, slots=True)
class Asked:
    """The user's message is in the history."""

    message: Message


@dataclass(frozen=True, slots=True)
class PutIn:
    """The program of a recorded agent put messages into the history that no user wrote.

    Recorded; `run` never yields it.
    """

    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Preparing:
    """The strategy starts to make the view; if it asks a model, this can take a while."""

    turn: int
    strategy: str
    limit: int


@dataclass(frozen=True, slots=True)
class SideBegan:
    """A strategy asks a model in the background; the agent continues. A `SideCalled` with a lag follows."""

    purpose: str
    model: ModelId
    prompt_tokens: int
    exact: bool


@dataclass(frozen=True, slots=True)
class SideCalled:
    """A strategy or a tool asked a model outside the conversation. `error` is empty unless the call failed.

    `shared`: the tokens at the start of its prompt that the server should still hold; None if unknown. `lag`: the calls
    of the agent that were prepared while it ran in the background; None if the agent waited for it. `held_seconds` is
    the time that the agent waited for a call in the background. `began`: in seconds since 1970; 0 if unknown.
    """

    purpose: str
    prompt_tokens: int
    exact: bool
    usage: Usage
    seconds: float
    error: str = ""
    model: ModelId = UNKNOWN_MODEL
    waited_seconds: float = 0.0
    shared: int | None = None
    lag: int | None = None
    held_seconds: float = 0.0
    began: float = 0.0
    first_token_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """The view is made and is about to be sent, with these tools. `exact`: its tokens were counted, not estimated.

    `before` is the view of the last call, None for the first call.
    """

    turn: int
    strategy: str
    model: ModelId
    view: View
    exact: bool
    tools: Sequence[Schema] = ()
    before: View | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class ReplyPiece:
    """A piece of the reply, as it streams. `was_text`: this thinking is the text that has come so far."""

    kind: Literal["text", "thinking"]
    text: str
    was_text: bool = field(default=False, metadata={"if_set": True})


@dataclass(frozen=True, slots=True)
class Replied:
    """The reply is complete and in the history. `waited_seconds` of its seconds passed before the server computed.

    `stopped_by`: who ended it because the model repeated itself; "" if it ended by itself. `began`: when the request
    was sent, in seconds since 1970; 0 if unknown. `written`: tokens of a reply that thimble ended, by our count, since
    its server reports none; else None. `returns_thinking`: the thinking stays in the history until the question is
    answered.
    """

    turn: int
    message: Message
    usage: Usage
    seconds: float
    first_token_seconds: float | None
    waited_seconds: float = 0.0
    stopped_by: Stopper = ""
    began: float = 0.0
    written: int | None = None
    returns_thinking: bool = False


@dataclass(frozen=True, slots=True)
class ReplyCancelled:
    """The user stopped a call before its reply was complete: it has a cost, but is not in the history.

    Recorded; `run` never yields it. Its fields are those of `Replied`.
    """

    turn: int
    written: int
    seconds: float
    first_token_seconds: float | None = None
    waited_seconds: float = 0.0
    began: float = 0.0


@dataclass(frozen=True, slots=True)
class PromptCut:
    """The server read so few tokens of the prompt that it must have cut it."""

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
    """A tool's result is in the history; `tokens` is its size in a prompt, counted by us.

    `began`: when the tool began to run, in seconds since 1970; 0 if unknown.
    """

    call: ToolCall
    message: Message
    tokens: int
    exact: bool
    seconds: float
    ok: bool
    began: float = 0.0


@dataclass(frozen=True, slots=True)
class Answered:
    """The exchange is over. `ending` says whether the model ended it by itself.

    "passages": the built-in reader shows the closest passages, and does not call them an answer. "refused": the server
    says that it declined, the built-in reader that it found nothing, or the model, in the words of
    `agent.prompts.CANNOT_ANSWER`, that the question cannot be answered; then it cites nothing that was read. "thought":
    the answer is empty, the model only thought. `from_memory`: nothing was looked up for this question, and the answer
    cites nothing that was read; never for the built-in reader, which has no memory. `invented`: the names that it cites
    and no tool has shown. `passage`: for a model that calls by schema, the best passage of the built-in search,
    followed by its source; never sent to a model. These follow from the text, the history and the articles: answers
    that differ only in them are equal.
    """

    text: str
    ending: Ending
    from_memory: bool = field(default=False, compare=False)
    invented: tuple[str, ...] = field(default=(), compare=False)
    passage: str = field(default="", compare=False, metadata={"if_set": True})


@dataclass(frozen=True, slots=True)
class QuestionWithdrawn:
    """No model could be asked, so the question was removed from the history. Recorded; `run` never yields it."""

    message: Message


@dataclass(frozen=True, slots=True)
class ReplyDiscarded:
    """A reply that rests on nothing that was read was removed from the history; the model is asked once more.

    Recorded; `run` never yields it.
    """

    message: Message


@dataclass(frozen=True, slots=True)
class Cancelled:
    """The exchange was cancelled: each call without a result gets one that says so.

    Recorded; `run` never yields it.
    """

    messages: tuple[Message, ...]


CHANGEABLE = {"strategy": str, "budget": int, "model": str, "system": str}
"""The settings that can change while a session runs, and the types of their values."""


@dataclass(frozen=True, slots=True)
class Changed:
    """A setting has a new value from now on. A new strategy starts with an empty memory.

    The strategy is a SPEC, the budget a number of tokens, the model written `backend/name`, and `system` the first
    message of a history. A value of another type raises ValueError.
    """

    setting: str
    value: str | int

    def __post_init__(self) -> None:
        if type(self.value) is not CHANGEABLE.get(self.setting):
            raise ValueError(f"there is no setting {self.setting} with the value {self.value!r:.40}")


@dataclass(frozen=True, slots=True)
class Planted:
    """A fact was put into the history without asking a model, as the only line of a file that was read.

    `messages` are its exchange: question, call, result, answer. `path` is the name of the file there.
    """

    fact: str
    path: str
    messages: tuple[Message, ...]

    @property
    def holder(self) -> Message:
        """The result with the fact; no other message has the fact."""
        return next(message for message in self.messages if message.role == "tool")


Event = (
    Asked
    | Preparing
    | SideBegan
    | SideCalled
    | Prepared
    | Sent
    | Waiting
    | ReplyPiece
    | Replied
    | PromptCut
    | ToolCalled
    | ToolReturned
    | Answered
    | Planted
)
Entry = Event | PutIn | ReplyCancelled | QuestionWithdrawn | ReplyDiscarded | Cancelled | Changed | Override
"""Everything that changes the state of a session: the events of its exchanges, and the changes between them."""
