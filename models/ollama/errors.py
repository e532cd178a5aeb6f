"""What an Ollama server refuses, said in one line with the way to mend it in another."""

from __future__ import annotations

import re

from agent.errors import ModelError
from models.server import ToolsRefused
from models.wire.http import LOWER, WHERE, reason
from models.wire.retry import Busy

DEFAULT_MODEL = "qwen2.5:7b"
START = f"start it: ollama serve, or {WHERE}, OLLAMA_HOST"
OTHER = f"{WHERE}, OLLAMA_HOST; or say what kind of server it is: --backend openai"
KEYLESS = "go round it with a tunnel to this machine (ssh -L)"

_OVERFLOW = (
    r"exceed\w*\b.*\bcontext|context\b.*\bexceed|(prompt|input)\b.*\b(too (long|large)|exceed)"
    r"|longer than the context|context limit|num_ctx"
)
_REASONS = (
    (r"not support thinking", "{model} cannot think aloud", "let it be: --think off"),
    (r"not support (chat|generate)", "{model} cannot chat", f"choose a model that can: --model {DEFAULT_MODEL}"),
    (
        _OVERFLOW,
        "the prompt is longer than the model's context: {error}",
        f"{LOWER}, or take a strategy that keeps to it",
    ),
    (
        r"system memory|out of memory|cudamalloc",
        "{error}",
        "choose a smaller model or budget, or stop what fills the memory",
    ),
    (r"unauthorized|sign ?in", "the server may not use this model: {error}", "sign in: ollama signin"),
)
_PULLS = (
    (
        r"file does not exist|manifest unknown|\bnot found\b|invalid model name",
        "there is no model {model!r} to pull",
        "look up its name and tag at ollama.com/library",
    ),
    (
        r"no space left|disk (is )?full|insufficient (disk )?space",
        "the server's disk is full: {error}",
        "free space there (ollama rm MODEL), then /pull {model} goes on",
    ),
    (
        r"newer version",
        "{model} needs a newer Ollama than this server",
        "update Ollama, then /pull {model}",
    ),
    (
        r"dial tcp|no such host|timed? ?out|connection|max retries|\beof\b|tls|x509",
        "the server cannot load it from where models are kept: {error}",
        "see to the server's network, then /pull {model} goes on",
    ),
)


def refusal(status: int, body: str, model: str, after_seconds: float | None = None) -> ModelError:
    """The error for what a server refused: its HTTP status, 200 in the middle of a stream, and its words."""
    error = reason(body)
    if status == 404 and re.search(r"\bmodel\b", error, re.IGNORECASE):
        return ModelError(f"the model {model!r} is not installed", f"ollama pull {model}")
    if status == 404:
        return ModelError(f"there is no Ollama at this address ({status}: {error})", OTHER)
    if status in (401, 403) and not model:  # of a model, Ollama itself says so
        return ModelError(f"what stands before the server wants a key, and Ollama is sent none ({status})", KEYLESS)
    if status in (429, 503):
        return Busy(f"the server is busy: {error}", "ask again in a moment", after_seconds=after_seconds)
    if re.search(r"not support tools", error, re.IGNORECASE):
        return ToolsRefused(f"{model} cannot call tools", f"choose a model that can: --model {DEFAULT_MODEL}")
    for pattern, what, fix in _REASONS:
        if re.search(pattern, error, re.IGNORECASE):
            return ModelError(what.format(model=model, error=error), fix)
    if status == 200:
        return ModelError(f"the server broke off its reply: {error}", "ask again; its log says more")
    return ModelError(f"the server answered with status {status}: {error}", "check the address and the server's log")


def pull_refusal(body: str, model: str) -> ModelError:
    """The error for a download that failed."""
    error = reason(body)
    for pattern, what, fix in _PULLS:
        if re.search(pattern, error, re.IGNORECASE):
            return ModelError(what.format(model=model, error=error), fix.format(model=model))
    return ModelError(f"the pull of {model!r} failed: {error}", f"/pull {model} goes on where it stopped")


def unreadable(line: bytes) -> ModelError:
    """The error for a reply that is not Ollama's."""
    start = line.strip()[:60].decode(errors="replace")
    what = "a web page" if start.startswith("<") else repr(start)
    return ModelError(f"the server does not speak Ollama's language: it answered {what}", f"{WHERE}, OLLAMA_HOST")
