"""The doctor's checks of an OpenAI-compatible server and one of its models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing, suppress

from agent.errors import ModelError
from agent.messages import Message, Schema
from agent.protocols import Usage
from models.openai import api_key
from models.openai.backend import OpenAIBackend
from models.openai.connection import Connection
from models.openai.errors import WITH_TOOLS
from models.openai.metrics import prefix_cache
from models.openai.server import OpenAIServer
from models.server import Check, ToolsRefused

ASKED_TOKENS = 8_000
"""A smaller context gets a warning: the default budget does not fit."""

TELL_CACHE = "vllm serve … --enable-prefix-caching --enable-prompt-tokens-details"
_TOOL: Schema = {
    "type": "function",
    "function": {
        "name": "look",
        "description": "Look something up.",
        "parameters": {"type": "object", "properties": {"word": {"type": "string"}}},
    },
}
_HELLO = (Message("s", "system", "Be brief."), Message("u", "user", "Hello."))


def checks(server: OpenAIServer, wanted: str) -> Iterator[Check]:
    """The doctor's findings about a server and one of its models, "" for its own choice. Never raises ModelError.

    No model is loaded for them: a server that loads one for a request is asked for no reply.
    """
    place = "server"
    try:
        server.models()
        yield Check(place, "ok", f"{_kind(server.name, server.connection)} answers at {server.url}")
        if api_key.origin() and not api_key.is_private(server.url):
            what = f"the key in {api_key.origin()} is not sent: without https, everyone on the way could read it"
            yield Check("key", "warn", what, "take its https:// address, or a tunnel to this machine (ssh -L)")
        place = "model"
        model = server.choose(wanted)
        backend = OpenAIBackend.on(server, model, 0)
    except ModelError as error:
        yield Check(place, "fail", error.what, error.fix)
        return
    yield Check(place, "ok", model)
    if _is_ollama(server.connection):
        what = "this is an Ollama, which would load the model for a reply: none is asked for"
        yield Check("reply", "warn", what, "--backend ollama")
        return
    usage, tools = _probed(backend)
    yield tools
    yield _context(backend)
    exact, estimated = (
        "the server's own: counts are exact",
        "the server counts for nobody: tokens are estimated, and shown with ~",
    )
    yield Check.of("tokenizer", backend.counter.exact, exact, estimated)
    yield _cache(server.connection, server.name, usage)


def _kind(name: str, connection: Connection) -> str:
    """The name that the server gives itself, with its version if known."""
    try:
        answer = connection.asked("/version")
        version = answer.get("version") if isinstance(answer, dict) else None
    except ModelError:
        version = None
    kind = "vLLM" if name == "vllm" else "an OpenAI-compatible server"
    return f"{kind} {version[:40]}" if isinstance(version, str) else kind


def _is_ollama(connection: Connection) -> bool:
    try:
        answer = connection.asked("/api/version")
    except ModelError:
        return False
    return isinstance(answer, dict) and "version" in answer


def _probed(backend: OpenAIBackend) -> tuple[Usage, Check]:
    """The usage of a reply of one token, and whether the server accepts tools."""
    try:
        return _account(backend, [_TOOL]), Check("tools", "ok", "the server takes them")
    except ToolsRefused as error:
        refused = Check("tools", "warn", error.what, WITH_TOOLS)
    except ModelError as error:
        return Usage(), Check("tools", "fail", error.what, error.fix)
    with suppress(ModelError):
        return _account(backend, []), refused
    return Usage(), refused


def _account(backend: OpenAIBackend, tools: Sequence[Schema]) -> Usage:
    with closing(backend.stream(_HELLO, tools, max_tokens=1)) as deltas:
        return next((delta for delta in deltas if isinstance(delta, Usage)), Usage())


def _context(backend: OpenAIBackend) -> Check:
    if backend.context is None:
        return Check("context", "warn", "the server does not tell how much the model holds", "keep the budget below it")
    found = f"{backend.context:,} tokens of prompt and reply"
    more = "--max-model-len 16384" if backend.name == "vllm" else "-c 16384"
    fix = f"start the server with {more}, or lower the budget (--budget N)"
    return Check.of("context", backend.context > ASKED_TOKENS, found, found, fix)


def _cache(connection: Connection, name: str, usage: Usage) -> Check:
    """Whether the server caches prompts, and whether it reports the cached tokens."""
    metrics = prefix_cache(connection) if name == "vllm" else None
    figures = ""
    if metrics:
        share = f", {metrics.hits / metrics.queries:.0%} of them found" if metrics.queries else ""
        used = "" if metrics.used is None else f"; the cache is {metrics.used:.0%} full"
        figures = f"{metrics.queries:,} tokens looked up{share}{used}"
    if usage.cached_tokens is not None:
        return Check("prefix cache", "ok", "; ".join(filter(None, ["cached tokens are reported", figures])))
    if metrics and not metrics.queries:
        return Check("prefix cache", "warn", "nothing was ever looked up in it: it may be off", TELL_CACHE)
    if metrics:
        return Check("prefix cache", "ok", f"{figures}, by the metrics")
    fix = TELL_CACHE if name == "vllm" else "a newer llama-server tells them"
    return Check("prefix cache", "warn", "cached tokens are not reported", fix)
