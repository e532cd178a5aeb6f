"""The embeddings of a model on an OpenAI-compatible server, through `/v1/embeddings`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any
from zlib import crc32

from thimble.models.embeddings.served import ServedEmbedder, malformed_error
from thimble.models.openai.server import OpenAIServer


class OpenAIEmbedder(ServedEmbedder):
    """A model of vLLM, llama-server, LM Studio or another one."""

    def __init__(self, server: OpenAIServer, model: str) -> None:
        super().__init__(server.name, model, server.connection.sleep)
        self._server = server

    def _fingerprint(self) -> str:
        """A checksum of the address and of the facts that the list of models has: vLLM's root, llama-server's meta."""
        entry = self._server.entry(self._server.choose(self.model))
        facts = [self._server.url, entry.get("root"), entry.get("meta")]
        return f"{crc32(json.dumps(facts, sort_keys=True).encode()):08x}"

    def _request_vectors(self, texts: Sequence[str]) -> Any:
        """The vectors, in the order of their index."""
        body = {"model": self.model, "input": texts}
        answer = self._server.connection.request_json("/v1/embeddings", body, self.model, self._server.options.reply)
        try:
            rows = {row["index"]: row["embedding"] for row in answer["data"]}
            return [rows[place] for place in range(len(texts))]
        except (KeyError, TypeError) as error:
            raise malformed_error("something other than an embedding for each text") from error


embedder = OpenAIEmbedder
"""The embeddings of a model of a server. Sends nothing."""
