"""What the loop knows of its parts: a counter, a backend, a strategy, a tool. Nothing more."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from agent.budget import Budget
from agent.messages import Message, ToolCall

Schema = Mapping[str, Any]
"""A tool as a chat-completions server takes it: {"type": "function", "function": {name, description, parameters}}."""


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the answer, as it streams."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """A piece of the model's reasoning, as it streams; never fed back as content."""

    text: str


@dataclass(frozen=True, slots=True)
class Usage:
    """What the server reported at the end of a reply; None is what it did not report. Tokens and seconds."""

    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    load_seconds: float | None = None
    prefill_seconds: float | None = None
    decode_seconds: float | None = None
    finish: Literal["stop", "length", ""] = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """What a server does before it computes, as in "loading the model"; `seconds` are let pass for it on purpose."""

    what: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Sent:
    """The request as it goes out: where to, and its body, byte for byte, as text. Keys are in neither."""

    to: str
    body: str


Delta = Sent | Waiting | Text | Thinking | ToolCall | Usage


class Backend(Protocol):
    """A model server.

    Two attributes are optional. `renders_tools = True` says that a prompt begins with the schemas of the tools, so that
    one with other tools has no prefix in common with it. `protocol` is how the model is told of tools where that is not
    the server's own way, such as "text ReAct".
    """

    name: str
    model: str

    @property
    def counter(self) -> Counter:
        """Counts tokens as this model does."""

    def stream(
        self, messages: Sequence[Message], tools: Sequence[Schema], *, max_tokens: int | None = None
    ) -> Generator[Delta, None, None]:
        """Stream one reply: text, thinking and whole tool calls in order, then one `Usage`.

        Before it come `Sent`, where there is a server to send to, and any `Waiting`. Closing the generator closes the
        connection. Raises ModelError.
        """


class Counter(Protocol):
    """Counts tokens. `exact` is False for an estimate, which is shown with `~`.

    One attribute is optional: `learnt` is all that `calibrate` has learnt, and can be set to what it was.
    """

    @property
    def exact(self) -> bool:
        """Whether the counts are the model's own."""

    def count(self, message: Message) -> int:
        """Tokens of a message in a prompt, its role markers included. Remembered, so that asking again is cheap."""

    def overhead(self, tools: Sequence[Schema]) -> int:
        """Tokens of a prompt that belong to no message: tool schemas and the template around them."""

    def calibrate(self, counted: int, reported: int) -> bool:
        """Learn from a server that it read `reported` tokens where `counted` were expected.

        False, and nothing learnt, where so few cannot be explained but by a prompt that was cut.
        """


class Strategy(Protocol):
    """How a session manages its context: one method, small enough for a slide.

    Five attributes are optional. `why(message)` is the rule by which the newest view leaves a message out, one sentence
    with its numbers. `state` is a JSON-able dict that holds all that is remembered between two calls: it
    is saved with a session and given back on resume. `fitted = False` asks the loop to send the view even when it is
    over budget. `tools` are names of tools that the model is offered only with this strategy, such as `recall`.
    `priced = True` says that its views depend on `budget.prices`: a replay at several prices then asks it at each.
    """

    def prepare(self, messages: Sequence[Message], budget: Budget) -> Sequence[Message]:
        """The view that the next model call is sent. `messages` is the whole history and must not be changed."""


class Tool(Protocol):
    """What the model may call."""

    name: str

    @property
    def schema(self) -> Schema:
        """What the model is told of it."""

    def run(self, arguments: Mapping[str, Any]) -> str:
        """The observation. Raises ToolError with words for the model; anything else is a bug."""
