"""The doctor's checks of an OpenAI-compatible server and one of its models."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from thimble.agent.errors import ModelError
from thimble.agent.messages import Message, Schema
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
_WORD = {"type": "object", "properties": {"word": {"type": "string"}}}
_TOOL: Schema = {"type": "function", "function": {"name": "look", "description": "Look it up.", "parameters": _WORD}}
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
        backend = backend_of(server, server.choose(wanted), 0)
    except ModelError as error:
        yield Check(place, "fail", error.what, error.fix)
        return
    yield Check(place, "ok", backend.model)
    if _version(server.connection, "/api/version"):
        what = "this is an Ollama, which would load the model for a reply: none is asked for"
        yield Check("reply", "warn", what, "--backend ollama")
    else:
        yield from _of_a_reply(backend)
    yield from ToolCaller(backend, server.options.calls).how()


def _version(connection: Connection, path: str) -> str:
    """The version that the server tells at this path; "" where it tells none."""
    answer = None
    with suppress(ModelError):
        answer = connection.asked(path)
    return str(answer.get("version") or "")[:40] if isinstance(answer, dict) else ""


def _of_a_reply(backend: OpenAIBackend) -> Iterator[Check]:
    """What a reply of one token shows: whether tools are taken, how much the model holds, what the server counts."""
    usage: Any = None
    tools = Check("tools", "ok", "the server takes them")
    try:
        *_, usage = backend.stream(_HELLO, [_TOOL], max_tokens=1)
    except ToolsRefused as error:
        tools = Check("tools", "warn", error.what, WITH_TOOLS)
        with suppress(ModelError):
            *_, usage = backend.stream(_HELLO, [], max_tokens=1)
    except ModelError as error:
        tools = Check("tools", "fail", error.what, error.fix)
    yield tools
    vllm, context = backend.name == "vllm", backend.context
    if context is None:
        yield Check("context", "warn", "the server does not tell how much the model holds", "keep the budget below it")
    else:
        found = f"{context:,} tokens of prompt and reply"
        more = "--max-model-len 16384" if vllm else "-c 16384"
        fix = f"start the server with {more}, or lower the budget (--budget N)"
        yield Check.of("context", context > ASKED_TOKENS, found, found, fix)
    estimated = "the server counts for nobody: tokens are estimated, and shown with ~"
    yield Check.of("tokenizer", backend.counter.exact, "the server's own: counts are exact", estimated)
    told, fix = getattr(usage, "cached_tokens", None) is not None, "a newer llama-server tells them"
    reported, otherwise = "cached tokens are reported", "cached tokens are not reported"
    yield Check.of("prefix cache", told, reported, otherwise, TELL_CACHE if vllm else fix)
