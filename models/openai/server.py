"""An OpenAI-compatible server: its address, its models, and a backend for one of them."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from thimble.agent.errors import ModelError
from thimble.models.openai import model_list
from thimble.models.openai.connection import Connection
from thimble.models.server import ServerOptions
from thimble.models.wire.address import gets, host_url

if TYPE_CHECKING:
    import httpx

PORTS = {"vllm": 8000, "openai": 8080}
"""The default ports: of vLLM, and of llama-server for the others."""


def server(name: Literal["vllm", "openai"], base_url: str, options: ServerOptions) -> OpenAIServer:
    """The server at an address. Raises UsageError for an invalid one."""
    return OpenAIServer(base_url, options, name=name)


class OpenAIServer:
    """The server at an address, with or without /v1 at its end. Raises UsageError for an invalid address.

    `name` is "vllm" or "openai" once the server has shown which it is; until then it is the given name.
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
        options = self.options
        self.connection = Connection(self.url, transport, bounds=options.answer, sends_key=options.sends_key)
        self._entries: list[model_list.Entry] = []

    def answers(self, seconds: float = 0.3) -> bool:
        """Whether `/v1/models` returns a list or asks for a key."""
        return gets(self.url, "/v1/models", self._is_answer, seconds)

    def models(self) -> list[str]:
        """Names of its models."""
        self._entries = model_list.listed(self.connection)
        self._name_by(self._entries)
        return [str(entry["id"]) for entry in self._entries]

    def choose(self, wanted: str = "") -> str:
        """The wanted model; "" for the first that can chat."""
        self.models()
        return model_list.chosen(self._entries, wanted)

    def context(self, model: str) -> int | None:
        """Tokens of prompt and reply that a model holds; None if the server does not say. Never raises."""
        with suppress(ModelError):  # the first request will raise the error
            if not self._entries:
                self.models()
        entry = model_list.entry(self._entries, model)
        return model_list.context_tokens(entry) if entry else None

    def _is_answer(self, status: int, answer: Any) -> bool:
        if status == 200 and model_list.is_list(answer):
            self._name_by(answer["data"])
            return True
        # At a default address, a page that asks for a password is another program.
        return status in (401, 403) and (answer is not None or not self._at_usual_address)

    def _name_by(self, entries: list[Any]) -> None:
        if entries:
            self.name = "vllm" if model_list.is_vllm(entries) else "openai"
