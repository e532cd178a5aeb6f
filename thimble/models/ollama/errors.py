"""Errors for the refusals of an Ollama server: one line says what is wrong, one how to fix it."""

from __future__ import annotations

import re

from thimble.agent.errors import ModelError
from thimble.models import refusals
from thimble.models.server import TooLong, largest_budget
from thimble.models.wire.address import hide_login
from thimble.models.wire.http import WHERE, beginning, error_reason

OLLAMA_START = f"start it: ollama serve, or {WHERE}, OLLAMA_HOST"
OTHER = f"{WHERE}, OLLAMA_HOST; or say what kind of server it is: --backend openai"
KEYLESS = "bypass it with a tunnel to this machine (ssh -L)"


def refusal_error(status: int, body: str, model: str, url: str, after_seconds: float | None = None) -> ModelError:
    """The error for a refused request, from its HTTP status (200 in the middle of a stream) and its body."""
    error = error_reason(error_reason(body))  # the words of the model's own process come as JSON in a text
    if status == 404 and re.search(r"\bmodel\b", error, re.IGNORECASE):
        return ModelError(f"the model {model!r} is not installed", f"ollama pull {model}")
    if status == 404:
        return ModelError(f"there is no Ollama at {hide_login(url)} ({status}: {error})", OTHER)
    if status in (401, 403) and not model:  # for a model, Ollama sends its own words
        return ModelError(f"the proxy in front of Ollama requires a key, and thimble sends none ({status})", KEYLESS)
    if status in (401, 403):
        return ModelError(f"the server may not use this model: {error}", "sign in: ollama signin")
    if sizes := re.search(r"\((\d{1,9}) tokens\) exceeds .* \((\d{1,9}) tokens\)", error):
        return too_long(*map(int, sizes.groups()))
    return refusals.refusal(status, error, model, after_seconds)


def too_long(tokens: int, context: int) -> TooLong:
    """The error for a prompt that is longer than the context of the loaded model, both in tokens."""
    what = f"the prompt has {tokens:,} tokens, but the model is loaded with a context of {context:,}"
    budget = largest_budget(context)
    return TooLong(what, f"lower the budget: /budget {budget}, --budget {budget}; or a model with a longer context")


def pull_refusal(body: str, model: str) -> ModelError:
    """The error for a download that failed."""
    error = error_reason(body)
    if re.search(r"file does not exist|manifest unknown|invalid model name", error):
        return ModelError(f"there is no model {model!r} to pull", "look up its name and tag at ollama.com/library")
    fix = f"fix that on the server's machine (network, disk, version of Ollama), then continue: /pull {model}"
    return ModelError(f"the pull of {model!r} failed: {error}", fix)


def unreadable_error(line: bytes) -> ModelError:
    """The error for a line that Ollama would not send."""
    what = f"this is not an Ollama server: it answered {beginning(line)}"
    return ModelError(what, f"{WHERE}, OLLAMA_HOST")
