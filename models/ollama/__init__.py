"""Ollama, through its own API."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agent.protocols import Embedder
from models.server import Check, Kind, ServedBackend, ServerOptions

if TYPE_CHECKING:
    from models.ollama.server import OllamaServer


def _server(base_url: str, options: ServerOptions) -> OllamaServer:
    from models.ollama.server import OllamaServer

    return OllamaServer(base_url, options)


def _backend(server: OllamaServer, model: str, room: int) -> ServedBackend:
    from models.ollama.backend import Ollama

    return Ollama(model, server, room=room)


def _checks(server: OllamaServer, model: str) -> Iterator[Check]:
    from models.ollama.checks import checks

    return checks(server, model)


def _embedder(server: OllamaServer, model: str) -> Embedder:
    from models.ollama.embedder import OllamaEmbedder

    return OllamaEmbedder(server, model)


OLLAMA = Kind(_server, _backend, _checks, _embedder)
