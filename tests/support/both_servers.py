"""The two ways to speak to a model server, with one face: a question whose reply is given, and how it fails."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.support import ollama_wire, openai_wire
from tests.support.openai_wire import SYSTEM, TOOL, USER
from thimble.agent.errors import ModelError
from thimble.agent.messages import ToolCall
from thimble.agent.protocols import Delta, Sent, Text, Thinking, Waiting
from thimble.models.ollama.backend import Ollama
from thimble.models.openai.backend import OpenAIBackend


@dataclass(frozen=True)
class Kind:
    """One of the two: its model and address in the tests, a whole reply, a wire that replies, and a model behind it."""

    model: str
    url: str
    answer: bytes
    calls: bytes
    wire: Callable[[Any], Any]
    behind: Callable[..., Ollama | OpenAIBackend]

    def backend(self, reply: Any, **options: Any) -> Ollama | OpenAIBackend:
        """A backend that gets this reply, or what a wire says."""
        return self.behind(reply if isinstance(reply, httpx.MockTransport) else self.wire(reply), **options)


SERVERS = {
    "ollama": Kind(
        "qwen2.5:7b",
        "http://127.0.0.1:11434",
        ollama_wire.ANSWER,
        ollama_wire.CALLS,
        lambda reply: ollama_wire.Wire(chat=reply),
        ollama_wire.model,
    ),
    "openai": Kind(
        "tiny",
        openai_wire.URL,
        openai_wire.ANSWER,
        openai_wire.CALLS,
        lambda reply: openai_wire.Wire({openai_wire.CHAT: reply if callable(reply) else lambda _: reply}),
        openai_wire.backend,
    ),
}


def failure(server: str, reply: Any) -> ModelError:
    """The error of a question that is answered so, by a wire or by the reply alone: two lines, neither too long."""
    with pytest.raises(ModelError) as caught:
        list(SERVERS[server].backend(reply).stream([SYSTEM, USER], [TOOL]))
    assert "\n" not in caught.value.what + caught.value.fix
    assert caught.value.fix
    assert len(caught.value.what) < 450
    return caught.value


def begun(server: str, reply: Any) -> Generator[Delta, None, None]:
    """A stream whose first words have come."""
    stream = SERVERS[server].backend(reply).stream([USER], [])
    while isinstance(delta := next(stream), Sent | Waiting):
        pass
    assert isinstance(delta, Text)
    return stream


def named(deltas: Iterable[Delta]) -> list[Any]:
    """Deltas with neighbouring texts joined, and without the ids of calls, which are made up anew each time."""
    told: list[Any] = []
    for delta in deltas:
        if isinstance(delta, Text | Thinking) and told and type(told[-1]) is type(delta):
            told[-1] = type(delta)(told[-1].text + delta.text)
        else:
            told.append((delta.name, delta.arguments) if isinstance(delta, ToolCall) else delta)
    return told


def said(deltas: Iterable[Delta], kind: type[Text] | type[Thinking] = Text) -> str:
    """The whole text, or thinking, of a reply."""
    return "".join(delta.text for delta in deltas if isinstance(delta, kind))
