"""An OpenAI-compatible server: where it is, what it has, and a backend for one of its models."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from agent.errors import ModelError
from models.openai import model_list
from models.openai.connection import Connection
from models.server import ServerOptions
from models.wire.address import gets, host_url

if TYPE_CHECKING:
    import httpx

PORTS = {"vllm": 8000, "openai": 8080}
"""Where each is by default: vLLM, and llama-server for the others."""


class OpenAIServer:
    """The server at an address, with or without /v1 at its end. Raises UsageError for what is none.

    `name` is "vllm" once a server has said that it is that, "openai" once one has said that it is not; until then it is
    as it was given.
    """

    def __init__(
        self,
        base_url: str = "",
        options: ServerOptions | None = None,
        transport: httpx.BaseTransport | None = None,
        name: Literal["vllm", "openai"] = "openai",
    ) -> None:
        self.name: str = name
        self.url = host_url(base_url, PORTS[name]).removesuffix("/v1")
        self._at_usual_address = not base_url
        self.options = options or ServerOptions()
        self.connection = Connection(self.url, transport)
        self._entries: list[model_list.Entry] = []

    def answers(self, seconds: float = 0.3) -> bool:
        """Whether `/v1/models` is answered with a list, or with the wish for a key."""
        return gets(self.url, "/v1/models", self._is_answer, seconds)

    def models(self) -> list[str]:
        """Names of its models."""
        self._entries = model_list.listed(self.connection)
        self._name_by(self._entries)
        return [str(entry["id"]) for entry in self._entries]

    def choose(self, wanted: str = "") -> str:
        """The model that is wanted, else the first that can chat."""
        self.models()
        return model_list.chosen(self._entries, wanted)

    def context(self, model: str) -> int | None:
        """Tokens of prompt and reply that a model holds; None if the server does not say. Never raises."""
        with suppress(ModelError):  # the first question will say why
            if not self._entries:
                self.models()
        entry = model_list.entry(self._entries, model)
        return model_list.context_tokens(self.connection, entry) if entry else None

    def _is_answer(self, status: int, answer: Any) -> bool:
        if status == 200 and model_list.is_list(answer):
            self._name_by(answer["data"])
            return True
        # At an address that nobody named, a web page that wants a password is somebody else's.
        return status in (401, 403) and (answer is not None or not self._at_usual_address)

    def _name_by(self, entries: list[Any]) -> None:
        if entries:
            self.name = "vllm" if model_list.is_vllm(entries) else "openai"
