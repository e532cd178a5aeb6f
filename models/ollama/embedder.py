"""The embeddings of a model on an Ollama server, through `/api/embed`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from models.embeddings.served import ServedEmbedder
from models.ollama.errors import unreadable
from models.ollama.server import OllamaServer

EMBED = "/api/embed"


class OllamaEmbedder(ServedEmbedder):
    """A model such as all-minilm. Ollama itself cuts a text that is longer than the model holds."""

    def __init__(self, server: OllamaServer, model: str) -> None:
        super().__init__(server.name, model, server.sleep)
        self._server = server

    def _mark(self) -> str:
        return self._server.digest(self.model)

    def _asked(self, texts: Sequence[str]) -> Any:
        request = json.dumps({"model": self.model, "input": texts})
        seconds = self._server.options.timeout_seconds
        with closing(self._server.replies(EMBED, request, seconds, self.model)) as replies:
            answer = next(replies, {})
        if "embeddings" not in answer:
            raise unreadable(json.dumps(answer).encode())
        return answer["embeddings"]
