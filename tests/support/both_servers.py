"""The two ways to speak to a model server, with one face: a question whose reply is given, and how it fails."""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

import pytest

from tests.support import ollama_wire, openai_wire
from tests.support.openai_wire import SYSTEM, TOOL, USER
from thimble.agent.errors import ModelError
from thimble.agent.protocols import Delta, Sent, Text, Waiting
from thimble.models.ollama.backend import Ollama
from thimble.models.openai.backend import OpenAIBackend


@dataclass(frozen=True)
class Kind:
    """One of the two: its model and address in the tests, a whole reply, and a backend that gets a reply."""

    model: str
    url: str
    answer: bytes
    backend: Callable[[Any], Ollama | OpenAIBackend]


SERVERS = {
    "ollama": Kind(
        "qwen2.5:7b",
        "http://127.0.0.1:11434",
        ollama_wire.ANSWER,
        lambda reply: ollama_wire.model(reply if isinstance(reply, ollama_wire.Wire) else ollama_wire.Wire(chat=reply)),
    ),
    "openai": Kind(
        "tiny",
        openai_wire.URL,
        openai_wire.ANSWER,
        lambda reply: openai_wire.backend(
            reply if isinstance(reply, openai_wire.Wire) else openai_wire.Wire({openai_wire.CHAT: lambda _: reply})
        ),
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
