"""Models on this machine without a server: GGUF files, those that Ollama has pulled, and SmolLM2 from a package."""

from __future__ import annotations


def is_file(model: str) -> bool:
    """Whether a model name is the name of a file."""
    return model.endswith(".gguf")
