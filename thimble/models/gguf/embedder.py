"""Embeddings of local models, which are not supported."""

from __future__ import annotations

from thimble.agent.errors import UsageError
from thimble.agent.protocols import Embedder
from thimble.models.gguf.server import LocalModels


def embedder(server: LocalModels, model: str) -> Embedder:
    """Raises UsageError."""
    raise UsageError("embeddings need a server", "use ollama:NAME, openai:NAME or vllm:NAME, or static")
