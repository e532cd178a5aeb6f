"""What the rest of thimble knows of a model server: where it is, what it has, and a backend for one of its models."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from agent.errors import ModelError
from agent.protocols import Backend

Think = Literal["on", "off", "low", "medium", "high"]

REPLY_TOKENS = 2_048
"""Room for a reply, and for the error of an estimate of the prompt."""

THINKING_TOKENS = 4_096
"""What a model that thinks may use for it, beside the tokens of its reply."""


class ToolsRefused(ModelError):
    """The server or its template takes no tools for this model; nothing was streamed yet."""


@dataclass(frozen=True, slots=True)
class Manner:
    """How a session talks to its servers.

    `think` is whether a model that can think shall, and how hard; `stream` is off for a server whose stream cannot be
    read; `timeout_seconds` is the longest wait for the next piece of a reply, for the first that is load and prefill;
    `keep_alive` is how long Ollama keeps a model loaded after a reply, as it writes it ("10m", "-1").
    """

    think: Think = "on"
    stream: bool = True
    timeout_seconds: float = 300.0
    keep_alive: str = "10m"


@dataclass(frozen=True, slots=True)
class Check:
    """A finding of `thimble doctor`: works, works with less, or cannot be used; and what to type to mend it."""

    name: str
    state: Literal["ok", "warn", "fail"]
    found: str
    fix: str = ""


@runtime_checkable
class Served(Backend, Protocol):
    """A backend with a server behind it. `room` is what it holds of prompt and reply together, in tokens."""

    room: int

    def with_room(self, tokens: int) -> Served:
        """The same model with this much room, if the server can give it; itself where it has it already."""

    def check(self) -> str:
        """One line of warning about how the server serves it; "" where all is well. Known after the first reply."""


class Server(Protocol):
    """A server at an address. Nothing is sent before it is asked something; every question may raise ModelError."""

    name: str
    url: str

    def answers(self, seconds: float) -> bool:
        """Whether a server of this kind answers here, known after so many seconds at the latest."""

    def models(self) -> list[str]:
        """Names of the models that it has."""

    def choose(self, wanted: str = "") -> str:
        """The model to use: the one that is wanted, else the one that suits best."""

    def backend(self, model: str, room: int) -> Served:
        """A backend for this model with room for so many tokens of prompt and reply."""

    def checks(self, model: str) -> Iterator[Check]:
        """What the doctor finds, one by one: server, model, tools, context, tokenizer, cache. Never raises ModelError.

        `model` is the one that was asked for, "" for the server's own choice.
        """
