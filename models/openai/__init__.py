"""Servers that speak OpenAI's chat completions: vLLM, llama-server and others."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from agent.protocols import Embedder
from models.server import Check, Kind, ServedBackend, ServerOptions

if TYPE_CHECKING:
    from models.openai.server import OpenAIServer


def _vllm(base_url: str, options: ServerOptions) -> OpenAIServer:
    from models.openai.server import OpenAIServer

    return OpenAIServer(base_url, options, name="vllm")


def _openai(base_url: str, options: ServerOptions) -> OpenAIServer:
    from models.openai.server import OpenAIServer

    return OpenAIServer(base_url, options)


def _backend(server: OpenAIServer, model: str, room: int) -> ServedBackend:
    from models.openai.backend import OpenAIBackend

    return OpenAIBackend.on(server, model, room)


def _checks(server: OpenAIServer, model: str) -> Iterator[Check]:
    from models.openai.checks import checks

    return checks(server, model)


def _embedder(server: OpenAIServer, model: str) -> Embedder:
    from models.openai.embedder import OpenAIEmbedder

    return OpenAIEmbedder(server, model)


VLLM = Kind(_vllm, _backend, _checks, _embedder)
OPENAI = Kind(_openai, _backend, _checks, _embedder)
