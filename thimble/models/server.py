"""Protocols and settings of a model server, as the rest of thimble sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol, runtime_checkable

from thimble.agent.budget import LEAST_BUDGET
from thimble.agent.errors import ModelError
from thimble.agent.protocols import Backend
from thimble.models.wire.bounds import ASK_SECONDS, ASK_WHOLE_SECONDS, REPLY_BYTES, REPLY_SECONDS, Bounds

Think = Literal["on", "off", "low", "medium", "high"]

Calls = Literal["tools", "schema"]
"""The ways to call tools: the server's own, or objects of an enforced schema."""

DEFAULT_MODEL = "qwen2.5:7b"
"""The suggested model, and the one whose tokens are counted if there is no model."""

REPLY_TOKENS = 2_048
"""Room for a reply, and for the error of an estimate of the prompt."""

NAMES_TOLD = 8
"""Maximum number of names of models in an error."""

THINKING_TOKENS = 4_096
"""Room for thinking, in addition to the reply."""


def largest_budget(context: int, thinks: bool = False) -> int:
    """The largest budget whose prompts and replies fit into a context of this many tokens, with any thinking.

    If none fits, the minimum budget.
    """
    return max(LEAST_BUDGET, context - REPLY_TOKENS - THINKING_TOKENS * thinks)


def too_small(model: str, holds: int, wanted: int, thinks: bool = False) -> str:
    """The warning for a model whose context is smaller than the budget may need."""
    what = f"{model} holds {holds:,} tokens of prompt and reply, and this budget needs up to {wanted:,}"
    budget = largest_budget(holds, thinks)
    fits = budget + REPLY_TOKENS + THINKING_TOKENS * thinks <= holds
    return f"{what}: {f'/budget {budget}' if fits else 'choose a model with a longer context (/model)'}"


def name_models(names: Sequence[str]) -> str:
    """Names of models for an error: the first eight, and how many more there are."""
    more = len(names) - NAMES_TOLD
    return ", ".join(names[:NAMES_TOLD]) + (f" and {more} more" if more > 0 else "")


class NoModel(ModelError):
    """The server answers, but has no suitable model."""


class ToolsRefused(ModelError):
    """The server or the model's template does not accept tools; nothing was streamed yet."""


class OptionRefused(ModelError):
    """The server does not accept an option of the request, for this model or any; nothing was streamed yet."""


class CallUnreadable(ModelError):
    """The server could not parse the call that its model wrote, and does not send it."""


class TooLong(ModelError):
    """The prompt, or a text to embed, is longer than the model's context."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """Settings of a session that shape its requests to a server."""

    think: Think = "on"
    """Whether a model that can think should think, and how hard."""

    stream: bool = True
    """Off for a server whose stream cannot be read."""

    timeout_seconds: float = 300.0
    """The longest wait for the next piece of a reply; for the first piece, loading the model and prefill included."""

    keep_alive: str = "10m"
    """How long Ollama keeps a model loaded after a reply, in Ollama's notation ("10m", "-1")."""

    reply_seconds: float = REPLY_SECONDS
    """The longest time for a whole reply."""

    sends_key: bool = True
    """Off for an address that the user has not named: the key is not sent there."""

    temperature: float | None = None
    """The sampling temperature; None sends none, and leaves it to the server and the model."""

    seed: int | None = None
    """The seed of the server's random numbers; None sends none."""

    def sampling(self, temperature: float | None = None) -> Mapping[str, float | int]:
        """The sampling options of a request; `temperature` replaces the setting for this request."""
        wanted = self.temperature if temperature is None else temperature
        return {name: value for name, value in (("temperature", wanted), ("seed", self.seed)) if value is not None}

    calls: Calls | Literal["auto"] = "auto"
    """The way to call tools; auto for the first that works."""

    @property
    def reply(self) -> Bounds:
        """The bounds of a reply."""
        return Bounds(self.timeout_seconds, self.reply_seconds, REPLY_BYTES)

    @property
    def answer(self) -> Bounds:
        """The bounds of an answer to any other request."""
        return Bounds(min(ASK_SECONDS, self.timeout_seconds), min(ASK_WHOLE_SECONDS, self.reply_seconds))


class Check(NamedTuple):
    """A finding of `thimble doctor`; if it limits a session, `fix` says how to lift the limit."""

    found: str
    fix: str = ""


@runtime_checkable
class ServedBackend(Backend, Protocol):
    """A backend whose model runs on a server."""

    room: int
    """Tokens of prompt and reply together that the model holds."""

    def with_room(self, tokens: int) -> ServedBackend:
        """The same model with this much room, if the server can give it; itself if it has that much already."""

    def check(self) -> str:
        """A warning of one line about how the server runs the model, or "". Known after the first reply."""


class Server(Protocol):
    """A server at an address. Making one sends nothing; every method but `answers` may raise ModelError."""

    name: str
    url: str
    options: ServerOptions

    def answers(self, seconds: float) -> bool:
        """Whether a server of this kind answers here, decided within this many seconds."""

    def models(self) -> list[str]:
        """Names of the server's models."""

    def choose(self, wanted: str = "") -> str:
        """The wanted model; "" for the most suitable one."""
