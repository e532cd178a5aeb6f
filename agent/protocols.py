"""What the loop knows of its parts: a backend, a strategy, a tool.

A class that derives from `Strategy` has the defaults of what it does not define; one of a backend derives from
`BackendDefaults`.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from agent.budget import Budget, Counter
from agent.messages import Message, Schema, ToolCall


@dataclass(frozen=True, slots=True)
class ModelId:
    """Which model: the backend that has it, and its name there; written `backend/name`."""

    backend: str = ""
    name: str = ""

    def __str__(self) -> str:
        return "/".join(filter(None, (self.backend, self.name)))

    @classmethod
    def read(cls, text: str) -> ModelId:
        """The model that is written so."""
        backend, _, name = text.partition("/")
        return cls(backend, name)


UNKNOWN_MODEL = ModelId()


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
    """A model of a server, or what stands for one. `BackendDefaults` has the defaults of some members."""

    name: str
    """What the server is called, such as "ollama"."""
    model: str
    """What the model is called there."""

    @property
    def id(self) -> ModelId:
        """Which model this is."""

    @property
    def renders_tools(self) -> bool:
        """Whether a prompt begins with the schemas of the tools: one with other tools then shares no prefix with it."""

    @property
    def protocol(self) -> str:
        """How the model learns of the tools, where that is not the server's own way, such as "text ReAct"; else ""."""

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


class BackendDefaults:
    """What a backend is that does not say otherwise."""

    name: str
    model: str

    @property
    def id(self) -> ModelId:
        """Which model this is."""
        return ModelId(self.name, self.model)

    @property
    def renders_tools(self) -> bool:
        """A prompt begins with its messages."""
        return False

    @property
    def protocol(self) -> str:
        """The model learns of the tools in the server's own way."""
        return ""


class Strategy(Protocol):
    """How a session manages its context: one method, small enough for a slide."""

    state: Any = None
    """All that is remembered between two calls, as JSON: saved with a session, and set again when that is resumed."""

    @property
    def fitted(self) -> bool:
        """Whether a view that is over budget is made to fit. If not, it is sent as it is."""
        return True

    @property
    def tools(self) -> Sequence[str]:
        """The names of tools that the model is offered only with this strategy, such as `recall`."""
        return ()

    @property
    def priced(self) -> bool:
        """Whether the views depend on `budget.prices`: a replay at several prices then asks at each."""
        return False

    def prepare(self, messages: Sequence[Message], budget: Budget) -> Sequence[Message]:
        """The view that the next model call is sent. `messages` is the whole history and must not be changed."""

    def why(self, message: Message) -> str:
        """The rule by which the newest view leaves this message out: one sentence, with its numbers."""
        return ""


class Tool(Protocol):
    """What the model may call."""

    name: str

    @property
    def schema(self) -> Schema:
        """What the model is told of it."""

    def run(self, arguments: Mapping[str, Any]) -> str:
        """The observation. Raises ToolError with words for the model; anything else is a bug."""
