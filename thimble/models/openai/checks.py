"""The doctor's checks of an OpenAI-compatible server and one of its models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from thimble.agent.errors import ModelError
from thimble.agent.messages import Message, Schema
from thimble.agent.protocols import Usage
from thimble.models.openai.backend import OpenAIBackend
from thimble.models.openai.backend import backend as backend_of
from thimble.models.openai.connection import Connection
from thimble.models.openai.server import OpenAIServer
from thimble.models.refusals import WITH_TOOLS
from thimble.models.server import Check, ToolsRefused
from thimble.models.tool_calls.caller import ToolCaller
from thimble.models.wire import api_key

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
        kind = "vLLM" if server.name == "vllm" else "an OpenAI-compatible server"
        version = _version(server.connection, "/version")
        yield Check(place, "ok", f"{kind} {version}".rstrip() + f" answers at {server.url}")
        if api_key.origin() and not api_key.is_private(server.url):
            what = f"the key in {api_key.origin()} is not sent: without https, everyone on the way could read it"
            yield Check("key", "warn", what, "take its https:// address, or a tunnel to this machine (ssh -L)")
        place = "model"
        model = server.choose(wanted)
        backend = backend_of(server, model, 0)
    except ModelError as error:
        yield Check(place, "fail", error.what, error.fix)
        return
    yield Check(place, "ok", model)
    if _version(server.connection, "/api/version"):
        what = "this is an Ollama, which would load the model for a reply: none is asked for"
        yield Check("reply", "warn", what, "--backend ollama")
        yield from ToolCaller(backend, server.options.calls).how()
        return
    usage, tools = _probed(backend)
    yield tools
    yield _context(backend)
    exact, estimated = (
        "the server's own: counts are exact",
        "the server counts for nobody: tokens are estimated, and shown with ~",
    )
    yield Check.of("tokenizer", backend.counter.exact, exact, estimated)
    fix = TELL_CACHE if server.name == "vllm" else "a newer llama-server tells them"
    told = usage.cached_tokens is not None
    yield Check.of("prefix cache", told, "cached tokens are reported", "cached tokens are not reported", fix)
    yield from ToolCaller(backend, server.options.calls).how()


def _version(connection: Connection, path: str) -> str:
    """The version that the server tells at this path; "" where it tells none."""
    answer = None
    with suppress(ModelError):
        answer = connection.asked(path)
    return str(answer.get("version") or "")[:40] if isinstance(answer, dict) else ""


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
    *_, usage = backend.stream(_HELLO, tools, max_tokens=1)
    return usage if isinstance(usage, Usage) else Usage()


def _context(backend: OpenAIBackend) -> Check:
    if backend.context is None:
        return Check("context", "warn", "the server does not tell how much the model holds", "keep the budget below it")
    found = f"{backend.context:,} tokens of prompt and reply"
    more = "--max-model-len 16384" if backend.name == "vllm" else "-c 16384"
    fix = f"start the server with {more}, or lower the budget (--budget N)"
    return Check.of("context", backend.context > ASKED_TOKENS, found, found, fix)
