"""Embeddings without a model: the letters of a text, counted; as an embedder, and as the two kinds of server say it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from zlib import crc32

import httpx

from thimble.agent.errors import ModelError
from thimble.models.embeddings import scale_to_unit
from thimble.models.embeddings.served import ServedEmbedder
from thimble.models.ollama.embedder import OllamaEmbedder
from thimble.models.ollama.server import OllamaServer
from thimble.models.openai.embedder import OpenAIEmbedder
from thimble.models.openai.server import OpenAIServer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

NUMBERS = 16


def counted(text: str) -> list[float]:
    """How often each of sixteen kinds of word occurs in a text."""
    counts = [0.0] * NUMBERS
    for word in text.split():
        counts[crc32(word.lower().encode("utf-8", "replace")) % NUMBERS] += 1
    return counts


@dataclass
class Counting:
    """An embedder that counts words; `fails` makes it a server that is gone."""

    fails: bool = False
    name: str = "counting"
    asked: list[list[str]] = field(default_factory=list)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        import numpy as np

        self.asked.append([*texts])
        if self.fails:
            raise ModelError("the server is gone", "start it")
        return scale_to_unit(np.array([counted(text) for text in texts], np.float32).reshape(len(texts), NUMBERS))


class Wire(httpx.MockTransport):
    """A server of either kind behind httpx's transport. `longest` is what it holds, in characters.

    `replies` come first, each a status and a body, or an error of the connection.
    """

    def __init__(self, *replies: tuple[int, Any] | Exception, longest: int = 10**9) -> None:
        super().__init__(self.answer)
        self.replies = [*replies]
        self.longest = longest
        self.digest = "845dbda0ea48"
        self.inputs: list[list[str]] = []

    def answer(self, request: httpx.Request) -> httpx.Response:
        match request.url.path:
            case "/api/tags":
                return httpx.Response(200, json={"models": [{"name": "all-minilm:latest", "digest": self.digest}]})
            case "/v1/models":
                meta = {"n_embd": NUMBERS, "n_params": len(self.digest)}
                return httpx.Response(200, json={"data": [{"id": "all-minilm", "root": self.digest, "meta": meta}]})
        texts = json.loads(request.content)["input"]
        self.inputs.append(texts)
        if self.replies:
            reply = self.replies.pop(0)
            if isinstance(reply, Exception):
                raise reply
            status, body = reply
            return httpx.Response(status, content=body if isinstance(body, bytes) else json.dumps(body).encode())
        assert all(text.strip() for text in texts)
        if max(map(len, texts)) > self.longest:
            words = "input is too large to process. increase the physical batch size"
            return httpx.Response(500, json={"error": {"code": 500, "message": words, "type": "server_error"}})
        vectors = [[number * 3 for number in counted(text)] for text in texts]
        if request.url.path == "/api/embed":
            return httpx.Response(200, json={"model": "all-minilm", "embeddings": vectors, "total_duration": 1})
        rows = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(vectors)]
        return httpx.Response(200, json={"object": "list", "data": rows[::-1], "usage": {"prompt_tokens": 1}})


def on(kind: str, wire: httpx.BaseTransport, model: str = "all-minilm") -> ServedEmbedder:
    """The embedder of a model behind a wire; it is not waited for."""
    if kind == "ollama":
        return OllamaEmbedder(OllamaServer("", None, wire, sleep=lambda _: None), model)
    server = OpenAIServer("", None, wire)
    server.connection.sleep = lambda _: None
    return OpenAIEmbedder(server, model)
