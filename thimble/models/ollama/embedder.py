"""The embeddings of a model on an Ollama server, through `/api/embed`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from thimble.models.embeddings.served import ServedEmbedder
from thimble.models.ollama.errors import unreadable_error
from thimble.models.ollama.server import OllamaServer


class OllamaEmbedder(ServedEmbedder):
    """A model such as all-minilm. Ollama itself cuts a text that is longer than the model's context."""

    def __init__(self, server: OllamaServer, model: str) -> None:
        super().__init__(server.name, model, server.sleep)
        self._server = server

    def _fingerprint(self) -> str:
        return self._server.digest(self.model)

    def _request_vectors(self, texts: Sequence[str]) -> Any:
        body = {"model": self.model, "input": texts}
        answer = self._server.ask("/api/embed", body, self.model, self._server.options.reply)
        if "embeddings" not in answer:
            raise unreadable_error(json.dumps(answer).encode())
        return answer["embeddings"]


embedder = OllamaEmbedder
"""The embeddings of a model of a server. Sends nothing."""
