"""The Ollama backend: `Ollama` for a session, and what must be known of a server before there is one."""

from __future__ import annotations

from models.ollama.backend import Ollama
from models.ollama.errors import DEFAULT_MODEL
from models.ollama.host import DEFAULT_URL, answers, host_url
from models.ollama.server import Progress, capabilities, choose_model, installed, pull

__all__ = [
    "DEFAULT_MODEL",
    "DEFAULT_URL",
    "Ollama",
    "Progress",
    "answers",
    "capabilities",
    "choose_model",
    "host_url",
    "installed",
    "pull",
]
