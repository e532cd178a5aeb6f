"""Models on this machine without a server: GGUF files, those that Ollama has pulled, and SmolLM2 from a package."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agent.errors import UsageError
from agent.protocols import Embedder
from models.server import Check, Kind, ServedBackend, ServerOptions

if TYPE_CHECKING:
    from models.gguf.local_models import LocalModels


def is_file(model: str) -> bool:
    """Whether a name of a model is meant as a file."""
    return model.endswith(".gguf")


def _server(_: str, options: ServerOptions) -> LocalModels:
    from models.gguf.local_models import LocalModels

    return LocalModels(options)


def _backend(server: LocalModels, model: str, room: int) -> ServedBackend:
    from models.gguf.backend import GgufBackend

    found = server.found(model)
    return GgufBackend(found, server.child(found), room, server.options)


def _checks(server: LocalModels, model: str) -> Iterator[Check]:
    from models.gguf.checks import checks

    return checks(server, model)


def _embedder(server: LocalModels, model: str) -> Embedder:
    raise UsageError("embeddings need a server", "take ollama:NAME, openai:NAME or vllm:NAME, or static")


GGUF = Kind(_server, _backend, _checks, _embedder)
