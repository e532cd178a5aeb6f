"""Errors for the refusals of an OpenAI-compatible server: one line says what is wrong, one how to fix it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from thimble.agent.errors import ModelError
from thimble.models import refusals
from thimble.models.server import NoModel, name_models
from thimble.models.wire import api_key, http
from thimble.models.wire.retry import after_seconds

CHAT = "/v1/chat/completions"
ADDRESS = f"{http.WHERE}, OPENAI_BASE_URL: the part before /v1"
START = f"start it (vllm serve MODEL, llama-server -m FILE --jinja), or {http.WHERE}, OPENAI_BASE_URL"


def refusal_error(
    status: int, body: str, model: str, url: str, headers: Mapping[str, str] | None = None, route: str = CHAT
) -> ModelError:
    """The error for a refused request.

    Args:
        status: HTTP status of the response; 200 in the middle of a stream.
        body: Body of the response.
        model: The model of the request.
        url: Address of the server.
        headers: Headers of the response.
        route: The path of the request.
    """
    error = http.error_reason(api_key.hide_key(body))
    if status in (401, 403):
        return _key_error(status, error, url)
    if status == 404 or (status == 400 and re.search(r"\bmodel\b.{0,80}\b(not exist|not found)", error, re.I)):
        return _absent(error, body, model, url, route)
    return refusals.refusal(status, error, model, after_seconds(headers or {}))


def missing_model_error(model: str, names: Sequence[str]) -> NoModel:
    """The error for a model that the server does not have."""
    fix = f"choose one that it has: {name_models(names)}" if names else "start the server with it, or leave --model out"
    return NoModel(f"the server has no model {model!r}", fix)


def unreadable_error(start: bytes, url: str) -> ModelError:
    """The error for a reply that is not a chat completion; `start` is its beginning."""
    what = f"the server at {url} does not speak chat completions: it answered {http.beginning(start)}"
    return ModelError(what, ADDRESS)


def _key_error(status: int, error: str, url: str) -> ModelError:
    name = api_key.key_variable()
    if not name:
        return ModelError(f"the server at {url} requires a key ({status})", f"set {api_key.VARIABLES[0]} to it")
    if not api_key.is_private(url):
        what = f"the server at {url} requires a key, and the one in {name} is not sent unencrypted to another machine"
        return ModelError(what, "use its https:// address, or a tunnel to this machine (ssh -L)")
    what = f"the server at {url} rejects the key in {name} ({status}: {error})"
    return ModelError(what, f"set {name} to a valid key")


def _absent(error: str, body: str, model: str, url: str, route: str) -> ModelError:
    if re.search(r"\bmodel\b", error, re.I) and not body.lstrip().startswith("<"):
        return missing_model_error(model, ())
    fix = f"{refusals.WITH_EMBEDDINGS}; or {ADDRESS}" if route.endswith("/embeddings") else ADDRESS
    return ModelError(f"the server at {url} has no {route}: {error}", fix)
