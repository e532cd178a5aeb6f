"""An Ollama server: where it is, what it has, and a backend for one of its models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from agent.errors import ModelError
from models.address import gets, host_url
from models.ollama.asking import capabilities, choose_model, installed
from models.server import Check, Manner, Served

if TYPE_CHECKING:
    import httpx


class OllamaServer:
    """The server at an address, in any form that OLLAMA_HOST may have. Raises UsageError for what is none."""

    name = "ollama"

    def __init__(self, base_url: str = "", manner: Manner | None = None, transport: httpx.BaseTransport | None = None):
        self.url = host_url(base_url)
        self._manner = manner or Manner()
        self._transport = transport

    def answers(self, seconds: float = 0.3) -> bool:
        """Whether `/api/version` is answered with a version."""
        return gets(self.url, "/api/version", _is_version, seconds)

    def models(self) -> list[str]:
        """Names of the installed models, newest first."""
        return installed(self.url, self._transport)

    def choose(self, wanted: str = "") -> str:
        """The installed model that is wanted, else the one that suits best."""
        return choose_model(self.models(), wanted, lambda name: "tools" in capabilities(name, self.url))

    def backend(self, model: str, room: int) -> Served:
        """A backend for this model, loaded with a context that holds so many tokens."""
        from models.ollama.backend import Ollama
        from models.react.backend import ToolCaller

        return ToolCaller(Ollama(model, self.url, room=room, manner=self._manner, transport=self._transport))

    def checks(self, model: str) -> Iterator[Check]:
        """What the doctor finds."""
        try:
            chosen = self.choose(model)
        except ModelError as error:
            yield Check("server", "fail", error.what, error.fix)
            return
        yield Check("server", "ok", f"Ollama answers at {self.url}")
        yield Check("model", "ok", chosen)


def _is_version(status: int, answer: Any) -> bool:
    return isinstance(answer, dict) and "version" in answer
