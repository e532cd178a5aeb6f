"""Errors for the refusals of an Ollama server: one line says what is wrong, one how to mend it."""

from __future__ import annotations

import re

from agent.errors import ModelError
from models.server import ToolsRefused
from models.wire.http import LOWER, WHERE, reason
from models.wire.refusals import Refusal, recognised
from models.wire.retry import Busy

DEFAULT_MODEL = "qwen2.5:7b"
START = f"start it: ollama serve, or {WHERE}, OLLAMA_HOST"
OTHER = f"{WHERE}, OLLAMA_HOST; or say what kind of server it is: --backend openai"
KEYLESS = "go round it with a tunnel to this machine (ssh -L)"

REFUSALS = (
    Refusal(
        ("registry.ollama.ai/library/phi does not support tools",),
        r"not support tools",
        "{model} cannot call tools",
        f"choose a model that can: --model {DEFAULT_MODEL}",
        ToolsRefused,
    ),
    Refusal(
        ('"qwen2.5:7b" does not support thinking',),
        r"not support thinking",
        "{model} cannot think aloud",
        "let it be: --think off",
    ),
    Refusal(
        ('"nomic-embed-text" does not support chat', '"bge-m3" does not support generate'),
        r"not support (chat|generate)",
        "{model} cannot chat",
        f"choose a model that can: --model {DEFAULT_MODEL}",
    ),
    Refusal(
        ("This server does not support embeddings. Start it with `--embeddings`",),
        r"not support embedding",
        "{model} makes no embeddings",
        "take a model that does: ollama pull all-minilm, then --embeddings ollama:all-minilm",
    ),
    Refusal(
        (
            "input length exceeds maximum context length",
            "the input length exceeds the context length",
            "request (40960 tokens) exceeds the available context size (4096 tokens), try increasing it",
            "prompt is too long: 9000 tokens",
            "prompt too long; exceeded max context length by 5 tokens",
            "context limit hit - shift disabled",
        ),
        r"exceed\w*\b.*\bcontext|context\b.*\bexceed|(prompt|input)\b.*\b(too (long|large)|exceed)"
        r"|longer than the context|context limit|num_ctx",
        "the prompt is longer than the model's context: {error}",
        f"{LOWER}, or take a strategy that keeps to it",
    ),
    Refusal(
        ("model requires more system memory (9.1 GiB) than 3.0 GiB", "cudaMalloc failed: out of memory"),
        r"system memory|out of memory|cudamalloc",
        "{error}",
        "choose a smaller model or budget, or stop what fills the memory",
    ),
    Refusal(
        ("unauthorized", "you need to be signed in: sign in"),
        r"unauthorized|sign ?in",
        "the server may not use this model: {error}",
        "sign in: ollama signin",
    ),
)
"""The refusals of a chat. The first row that matches counts."""

PULL_REFUSALS = (
    Refusal(
        ("pull model manifest: file does not exist", "invalid model name"),
        r"file does not exist|manifest unknown|\bnot found\b|invalid model name",
        "there is no model {model!r} to pull",
        "look up its name and tag at ollama.com/library",
    ),
    Refusal(
        ("write /root/.ollama/models/blobs/sha256-2bada8-partial-0: no space left on device",),
        r"no space left|disk (is )?full|insufficient (disk )?space",
        "the server's disk is full: {error}",
        "free space there (ollama rm MODEL), then /pull {model} goes on",
    ),
    Refusal(
        ("pull model manifest: 412: this model requires a newer version of Ollama",),
        r"newer version",
        "{model} needs a newer Ollama than this server",
        "update Ollama, then /pull {model}",
    ),
    Refusal(
        ("dial tcp: lookup registry on 127.0.0.53:53: no such host", "max retries exceeded: unexpected EOF"),
        r"dial tcp|no such host|timed? ?out|connection|max retries|\beof\b|tls|x509",
        "the server cannot load it from where models are kept: {error}",
        "see to the server's network, then /pull {model} goes on",
    ),
)
"""The refusals of a download."""


def refusal(status: int, body: str, model: str, after_seconds: float | None = None) -> ModelError:
    """The error for a refused request, from its HTTP status (200 in the middle of a stream) and its body."""
    error = reason(body)
    if status == 404 and re.search(r"\bmodel\b", error, re.IGNORECASE):
        return ModelError(f"the model {model!r} is not installed", f"ollama pull {model}")
    if status == 404:
        return ModelError(f"there is no Ollama at this address ({status}: {error})", OTHER)
    if status in (401, 403) and not model:  # for a model, Ollama sends its own words
        return ModelError(f"what stands before the server wants a key, and Ollama is sent none ({status})", KEYLESS)
    if status in (429, 503):
        return Busy(f"the server is busy: {error}", "ask again in a moment", after_seconds=after_seconds)
    if found := recognised(REFUSALS, error, model):
        return found
    if status == 200:
        return ModelError(f"the server broke off its reply: {error}", "ask again; its log says more")
    return ModelError(f"the server answered with status {status}: {error}", "check the address and the server's log")


def pull_refusal(body: str, model: str) -> ModelError:
    """The error for a download that failed."""
    error = reason(body)
    if found := recognised(PULL_REFUSALS, error, model):
        return found
    return ModelError(f"the pull of {model!r} failed: {error}", f"/pull {model} goes on where it stopped")


def unreadable(line: bytes) -> ModelError:
    """The error for a line that Ollama would not send."""
    start = line.strip()[:60].decode(errors="replace")
    what = "a web page" if start.startswith("<") else repr(start)
    return ModelError(f"the server does not speak Ollama's language: it answered {what}", f"{WHERE}, OLLAMA_HOST")
