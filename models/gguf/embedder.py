"""Embeddings of the models of this machine: there are none."""

from __future__ import annotations

from agent.errors import UsageError
from agent.protocols import Embedder
from models.gguf.server import LocalModels


def embedder(server: LocalModels, model: str) -> Embedder:
    """Raises UsageError."""
    raise UsageError("embeddings need a server", "take ollama:NAME, openai:NAME or vllm:NAME, or static")
