"""An Ollama server: its address, and every request to it."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any

from thimble.agent.background import sleep_or_halt
from thimble.agent.errors import ModelError
from thimble.models.ollama.choose import choose_model, missing_model_error
from thimble.models.ollama.errors import OLLAMA_START, pull_refusal, refusal_error, unreadable_error
from thimble.models.ollama.model_info import ModelInfo, add_default_tag, model_info
from thimble.models.server import ServerOptions
from thimble.models.wire import bounds, http
from thimble.models.wire.address import host_url, server_answers
from thimble.models.wire.bounds import Allowance, Bounds, silence_error
from thimble.models.wire.connection import ServerConnection, encode_body
from thimble.models.wire.retry import after_seconds

if TYPE_CHECKING:
    import httpx

CHAT, PULL, SHOW, PS = "/api/chat", "/api/pull", "/api/show", "/api/ps"
SLOW_SECONDS = 10.0
"""The pause after a server was too slow to report on a model, since a session asks many times in a row."""
PULL_SECONDS = 600.0
"""Longest silence of a download: the server sends nothing while it verifies a large layer."""
PULL_WHOLE_SECONDS, PULL_BYTES = 86_400.0, 1_000_000_000
LAYERS = 1_000
"""Maximum number of layers of a download that are counted."""
VERSION_CHARACTERS = 40

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class PullProgress:
    """How far a download is: the server's current step, and the bytes of all layers named so far."""

    status: str
    done_bytes: int = 0
    total_bytes: int = 0


@dataclass
class Download:
    """Adds up the layers of a download. Impossible figures are ignored, and progress never runs backwards."""

    _done: dict[str, int] = field(default_factory=dict)
    _total: dict[str, int] = field(default_factory=dict)

    def add(self, step: Mapping[str, Any]) -> PullProgress:
        """The progress after one more line from the server."""
        layer, total = bounds.clean_name(step.get("digest")), http.read_count(step.get("total"))
        done = http.read_count(step.get("completed"))
        known = layer in self._total or len(self._total) < LAYERS
        if layer and total and known:
            self._total[layer] = max(total, self._total.get(layer, 0))
            self._done[layer] = min(max(done or 0, self._done.get(layer, 0)), self._total[layer])
        return PullProgress(
            str(step.get("status") or "")[: bounds.TOLD_CHARACTERS], sum(self._done.values()), sum(self._total.values())
        )


def server(name: str, base_url: str, options: ServerOptions) -> OllamaServer:
    """The server at an address. Raises UsageError for an invalid one."""
    return OllamaServer(base_url, options)


class OllamaServer(ServerConnection):
    """The server at an address, in any form that OLLAMA_HOST may have, with or without /api or /v1 at its end.

    Raises UsageError for an invalid address.

    Args:
        base_url: The address; "" for the usual one.
        options: Settings of the requests.
        transport: Replaces the network, for tests.
        sleep: Waits for a number of seconds while the server is busy.
    """

    name = "ollama"
    start = OLLAMA_START

    def __init__(
        self,
        base_url: str = "",
        options: ServerOptions | None = None,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], object] = sleep_or_halt,
    ) -> None:
        self.options = options or ServerOptions()
        url = host_url(base_url).removesuffix("/v1").removesuffix("/api")
        super().__init__(url, transport, sleep, self.options.answer)
        self._infos: dict[str, ModelInfo] = {}
        self._rests: dict[str, float] = {}

    def answers(self, seconds: float = 0.3) -> bool:
        """Whether `/api/version` returns a version."""
        return server_answers(self.url, "/api/version", _is_version, seconds)

    def version(self) -> str:
        """Its version, such as "0.34.1". Raises ModelError."""
        return str(self.ask("/api/version").get("version") or "")[:VERSION_CHARACTERS]

    def models(self) -> list[str]:
        """Names of the installed models, as the server orders them (newest first). Raises ModelError."""
        return [name for name in map(_name, self._listed("/api/tags")) if name]

    def digest(self, model: str) -> str:
        """The digest of an installed model, "" if the server does not say. Raises ModelError if it is not installed."""
        listed = {_name(each): each for each in self._listed("/api/tags")}
        return bounds.clean_name(listed[choose_model([*listed], model)].get("digest"))

    def choose(self, wanted: str = "") -> str:
        """The wanted model if it is installed; "" for the most suitable one. Raises ModelError."""
        return choose_model(self.models(), wanted, self._can)

    def info(self, model: str) -> ModelInfo:
        """The server's facts about a model, requested once. Raises ModelError."""
        if model not in self._infos:
            self._infos[model] = model_info(self.ask(SHOW, {"model": model}, model))
        return self._infos[model]

    def loaded(self, model: str) -> int | None:
        """The context in tokens that a model is loaded with: None if not loaded, 0 if the server does not say.

        Models of the same files are loaded once; the server lists them under the name that was asked for first.
        """
        listed = self._listed(PS)
        named = [each for each in listed if add_default_tag(_name(each)) == add_default_tag(model)]
        found = next(iter(named or [each for each in listed if self._has_same_files(_name(each), model)]), None)
        return None if found is None else http.read_count(found.get("context_length")) or 0

    def pull(self, model: str) -> Generator[PullProgress, None, None]:
        """Download a model. Closing the generator stops it; the next download continues from there.

        Raises:
            ModelError: The download failed, or the connection broke.
        """
        download = Download()
        allowance = self.allowance(Bounds(PULL_SECONDS, PULL_WHOLE_SECONDS, PULL_BYTES))
        with closing(self.stream(PULL, {"model": model}, allowance, model)) as steps:
            for step in steps:
                yield download.add(step)
                if step.get("status") == "success":
                    self._infos.clear()
                    return
        raise http.stopped_error()

    def ask(self, path: str, body: Body | None = None, model: str = "", bounds: Bounds | None = None) -> dict[str, Any]:
        """The answer to a request, as a JSON object; without a body it is a GET. Raises ModelError."""
        from thimble.models.ollama.client import OllamaClient

        began = monotonic()
        if began < self._rests.get(path, 0.0):
            raise silence_error(self.url, self.bounds.quiet_seconds)
        try:
            client = OllamaClient(self, self.allowance(bounds), model)
            return client.ask(path, None if body is None else encode_body(body))
        except ModelError:
            if path in (SHOW, PS) and monotonic() - began >= self.bounds.quiet_seconds:
                self._rests[path] = monotonic() + SLOW_SECONDS
            raise

    def stream(
        self, path: str, body: Body | bytes, allowance: Allowance, model: str
    ) -> Generator[dict[str, Any], None, None]:
        """The lines of a streamed answer, each a JSON object. Closing it closes the connection.

        Raises:
            Busy: The server accepts no request now, or the connection was lost before the first line.
            ModelError: The server refused, or is not Ollama.
        """
        from thimble.models.ollama.client import OllamaClient

        return OllamaClient(self, allowance, model).stream(path, body if isinstance(body, bytes) else encode_body(body))

    def refusal_error(self, response: httpx.Response, said: str, model: str) -> ModelError:
        """The error for a refused request; if the model is missing, the error names the installed ones."""
        if response.request.url.path.endswith(PULL):
            return pull_refusal(said, model)
        error = refusal_error(response.status_code, said, model, self.url, after_seconds(response.headers))
        if model and error.fix == f"ollama pull {model}":
            with suppress(ModelError):
                return missing_model_error(model, self.models())
        return error

    def unreadable_answer(self, body: bytes) -> ModelError:
        """The error for an answer that Ollama would not send."""
        return unreadable_error(body)

    def _listed(self, path: str) -> list[dict[str, Any]]:
        answer = self.ask(path)
        models = answer.get("models", 0)
        if models is None:
            return []  # how Go may write an empty list
        if not isinstance(models, list):
            raise unreadable_error(json.dumps(answer).encode())
        return [each for each in models if isinstance(each, dict)]

    def _has_same_files(self, one: str, other: str) -> bool:
        """Whether two models have the same files, as far as the server says."""
        with suppress(ModelError):
            weights = self.info(one).weights
            return bool(weights) and weights == self.info(other).weights
        return False

    def _can(self, model: str, ability: str) -> bool | None:
        with suppress(ModelError):
            return self.info(model).can(ability)
        return None


def _name(model: Mapping[str, Any]) -> str:
    return bounds.clean_name(model.get("model") or model.get("name"))


def _is_version(status: int, answer: Any) -> bool:
    return status == 200 and isinstance(answer, dict) and "version" in answer
