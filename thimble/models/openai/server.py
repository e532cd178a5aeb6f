"""An OpenAI-compatible server: its address, its models with their contexts, and the choice of one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal

from thimble.agent.errors import ModelError
from thimble.models.openai.connection import Connection, Entry
from thimble.models.openai.errors import missing_model_error
from thimble.models.server import ServerOptions
from thimble.models.wire.address import host_url, server_answers
from thimble.models.wire.http import read_count

if TYPE_CHECKING:
    import httpx

PORTS = {"vllm": 8000, "openai": 8080}
"""The default ports: of vLLM, and of llama-server for the others."""

_NO_CHAT = re.compile(r"embed|rerank|whisper|\btts\b", re.IGNORECASE)
_CONTEXT = ("max_model_len", "context_length", "context_window", "max_context_length")


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
        self.connection = Connection(self.url, transport, bounds=self.options.answer)
        self.connection.sends_key = self.options.sends_key
        self._entries: list[Entry] = []

    def answers(self, seconds: float = 0.3) -> bool:
        """Whether `/v1/models` returns a list or asks for a key."""
        return server_answers(self.url, "/v1/models", self._is_answer, seconds)

    def models(self) -> list[str]:
        """Names of its models."""
        self._entries = self.connection.list_models()
        self._set_name_from(self._entries)
        return [entry["id"] for entry in self._entries]

    def choose(self, wanted: str = "") -> str:
        """The wanted model, by its name or an alias; "" for the first that can chat.

        Raises:
            ModelError: There is no such model; the error names the server's models.
        """
        names = self.models()
        if wanted and not self.entry(wanted):
            raise missing_model_error(wanted, names)
        chosen = wanted or next((name for name in names if not _NO_CHAT.search(name)), "")
        if not chosen:
            raise ModelError("the server has no model to talk to", "start it with one, or name it: --model NAME")
        return chosen

    def entry(self, model: str) -> Entry:
        """A model's entry in the list of models, by its name or an alias; empty if it is not in the list."""
        for each in self._entries:
            aliases = each.get("aliases")
            if model == each["id"] or (isinstance(aliases, list) and model in aliases):
                return each
        return {}

    def context(self, model: str) -> int | None:
        """Tokens of prompt and reply that a model holds; None if the server does not say. Never raises."""
        with suppress(ModelError):  # the first request will raise the error
            if not self._entries:
                self.models()
        told = self.entry(model)
        figures = [told.get(name) for name in _CONTEXT] + [self._meta(model).get("n_ctx")]
        return next(filter(None, map(read_count, figures)), None)

    def parameters(self, model: str) -> int | None:
        """The number of a model's parameters; None if the list of models does not say. llama-server's does."""
        return read_count(self._meta(model).get("n_params")) or None

    def _meta(self, model: str) -> Mapping[str, Any]:
        meta = self.entry(model).get("meta")
        return meta if isinstance(meta, Mapping) else {}

    def _is_answer(self, status: int, answer: Any) -> bool:
        if status == 200 and isinstance(answer, dict) and isinstance(answer.get("data"), list):
            self._set_name_from(answer["data"])
            return True
        # At a default address, a page that asks for a password is another program.
        return status in (401, 403) and (answer is not None or not self._at_usual_address)

    def _set_name_from(self, entries: list[Any]) -> None:
        """Set the name by the owner of the models, which is "vllm" on vLLM."""
        if entries:
            owners = [entry.get("owned_by") for entry in entries if isinstance(entry, dict)]
            self.name = "vllm" if "vllm" in owners else "openai"
