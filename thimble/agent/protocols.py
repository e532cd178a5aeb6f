"""The protocols of the loop's parts: a backend, a strategy, a tool.

A subclass of `Backend` or `Strategy` inherits defaults for the members that it does not define.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol

from thimble.agent.budget import Budget, Counter
from thimble.agent.messages import Message, Schema, ToolCall

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class ModelId:
    """The identity of a model: its backend and its name there, written `backend/name`."""

    backend: str = ""
    name: str = ""

    def __str__(self) -> str:
        return "/".join(filter(None, (self.backend, self.name)))

    @property
    def built_in(self) -> bool:
        """Whether it is the reader of thimble, which knows only its prompt."""
        return self.backend == "reader"

    @property
    def called(self) -> str:
        """The name to choose it by: the backend's for the built-in reader, the file's own for a file."""
        if self.backend == "gguf" and self.name.startswith("/"):
            return self.name.rpartition("/")[2]
        return self.backend if self.built_in else self.name

    @classmethod
    def read(cls, text: str) -> ModelId:
        """The model written as `backend/name`."""
        backend, _, name = text.partition("/")
        return cls(backend, name)


UNKNOWN_MODEL = ModelId()


@dataclass(frozen=True, slots=True)
class Text:
    """A piece of the answer, as it streams."""

    text: str


@dataclass(frozen=True, slots=True)
class Thinking:
    """A piece of the model's reasoning, as it streams; never fed back as content.

    `was_text`: all text so far was streamed as text and turns out to be thinking.
    """

    text: str
    was_text: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """The server's report at the end of a reply, in tokens and seconds; None if not reported.

    `finish` is why the reply ended: "stop", "length", "refusal", or any other reason in the server's own word; "" if
    not reported. "refusal" is never inferred from a model's words. "passages": the built-in reader shows the closest
    passages, and does not call them an answer.
    """

    prompt_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    load_seconds: float | None = None
    prefill_seconds: float | None = None
    decode_seconds: float | None = None
    finish: str = ""


@dataclass(frozen=True, slots=True)
class Waiting:
    """The reason why a server does not compute yet, as in "loading the model". `seconds`: our pause before a retry."""

    what: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Sent:
    """The request as sent: its address, and its body, byte for byte, as text. Neither contains a key."""

    to: str
    body: str


Delta = Sent | Waiting | Text | Thinking | ToolCall | Usage

Expects = Literal["turn", "answer", "text"]
"""The kind of reply: calls or an answer; an answer only, on the last turn, when a call would not be run; or free text,
outside the conversation, in no enforced form."""


class Backend(Protocol):
    """A model of a server, or a substitute. A subclass must define `name`, `model`, `counter` and `stream`."""

    name: str
    """The name of the server, such as "ollama"."""
    model: str
    """The name of the model there."""

    if TYPE_CHECKING:  # a property here would keep a subclass from setting it

        @property
        def counter(self) -> Counter:
            """Counts tokens as this model does."""

    @property
    def id(self) -> ModelId:
        """Which model this is."""
        return ModelId(self.name, self.model)

    @property
    def renders_tools(self) -> bool:
        """Whether a prompt starts with the tool schemas; then a prompt with other tools shares no prefix with it."""
        return False

    @property
    def protocol(self) -> str:
        """The way in which the model gets the tools, such as "calls by schema"; "" for the server's own way."""
        return ""

    @property
    def returns_thinking(self) -> bool:
        """Whether the thinking before a call is sent back with the call until its question is answered."""
        return False

    def longest_prompt(self) -> int | None:
        """The most tokens of a prompt that leave room for a reply in the model's context; None for no limit."""
        return None

    def use_schema(self) -> None:
        """Have the model call by schema from now on, if it can: it made no call when one was due."""
        return

    def within(self, strategy: str, budget: int) -> Backend:
        """The model for one request of a session with this SPEC and budget; only the built-in reader looks at them."""
        return self

    def loading(self) -> Iterable[Waiting]:
        """Load the model, and report each wait; nothing if the server loads it when it is asked.

        Afterwards its counts are exact, before the first prompt is made. Raises ModelError.
        """
        return ()

    def stream(
        self,
        messages: Sequence[Message],
        tools: Sequence[Schema],
        *,
        max_tokens: int | None = None,
        temperature: float | None = None,
        expects: Expects = "turn",
    ) -> Generator[Delta, None, None]:
        """Stream one reply: text, thinking and whole tool calls in order, then one `Usage`.

        `Sent` (if there is a server) and any `Waiting` come first. Closing the generator closes the connection. Two
        replies may stream at once, in two threads. Raises ModelError.

        Args:
            messages: The prompt.
            tools: The tools that the model may call; they are part of the prompt.
            max_tokens: The most tokens of the reply.
            temperature: None for the session's; a model without one ignores it.
            expects: The kind of reply; see `Expects`.
        """

    def rendered(self, messages: Sequence[Message], tools: Sequence[Schema]) -> str | None:
        """The prompt as the model reads it, special tokens as text; None if the server does not show it.

        Raises ModelError.
        """
        return None


class Stage(NamedTuple):
    """A part of a strategy, by name ("" for the strategy as a whole), and the view that it made."""

    by: str
    messages: Sequence[Message]

    def __deepcopy__(self, memo: object) -> Stage:
        return self


class Strategy(Protocol):
    """How a session manages its context: one method, small enough for a slide."""

    state: Any = None
    """Everything remembered between two calls, as JSON: saved with a session, and restored when it is resumed."""

    @property
    def fitted(self) -> bool:
        """Whether a view over the budget is made to fit. If not, it is sent unchanged."""
        return True

    @property
    def tools(self) -> Sequence[str]:
        """The names of tools offered to the model only with this strategy, such as `recall`."""
        return ()

    @property
    def refers(self) -> bool:
        """Whether its copies refer to other messages of the view; a pipeline runs it after all that change these."""
        return False

    @property
    def priced(self) -> bool:
        """Whether the views depend on `budget.prices`; then a replay at several prices runs once for each."""
        return False

    @property
    def stages(self) -> Sequence[Stage]:
        """How the newest view was made: one stage for each part, in order; () if there are no parts."""
        return ()

    def prepare(self, messages: Sequence[Message], budget: Budget) -> Sequence[Message]:
        """The view for the next model call. `messages` is the whole history and must not be changed."""

    def why(self, message: Message) -> str:
        """The reason why the newest view leaves this message out: one sentence, with its numbers."""
        return ""


class Tool(Protocol):
    """A tool that the model may call."""

    name: str

    @property
    def schema(self) -> Schema:
        """The description of the tool for the model."""

    def run(self, arguments: Mapping[str, Any]) -> str:
        """The observation. Raises ToolError with words for the model; anything else is a bug."""


class Embedder(Protocol):
    """Turns texts into vectors: texts of similar meaning get vectors that are near each other."""

    @property
    def name(self) -> str:
        """The name of the model, so that stored vectors of another one are not used. Raises ModelError."""
        ...

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """A unit vector for each text, one a row; zeros for an empty text.

        Raises:
            ModelError: the server cannot be used.
        """
        ...
