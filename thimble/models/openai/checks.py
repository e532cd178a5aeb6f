"""The doctor's findings about an OpenAI-compatible server and a model, from a reply of one token."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from thimble.agent.errors import ModelError
from thimble.agent.messages import Message, Schema
from thimble.models.openai.connection import Connection
from thimble.models.openai.server import OpenAIServer
from thimble.models.server import Check
from thimble.models.tool_calls.caller import ToolCaller
from thimble.models.wire import api_key

TELL_CACHE = {"vllm": "vllm serve … --enable-prefix-caching --enable-prompt-tokens-details"}
_WORD = {"type": "object", "properties": {"word": {"type": "string"}}}
_TOOL: Schema = {"type": "function", "function": {"name": "look", "parameters": _WORD}}
_HELLO = (Message("s", "system", "Be brief."), Message("u", "user", "Hello."))


def checks(server: OpenAIServer, caller: ToolCaller) -> Iterator[Check]:
    """The server's version, and the findings from a reply, unless that would load the model. Raises ModelError."""
    yield Check(f"{_version(server.connection, '/version') or 'answers'} at {server.url}")
    if api_key.key_variable() and not api_key.is_private(server.url):
        what = f"the key in {api_key.key_variable()} is not sent: without https, everyone on the way could read it"
        yield Check(what, "use its https:// address, or a tunnel to this machine (ssh -L)")
    if _version(server.connection, "/api/version"):
        yield Check("this is an Ollama server, which would load the model: no reply is requested", "--backend ollama")
        return
    *_, usage = caller.stream(_HELLO, [_TOOL], max_tokens=1)
    if getattr(usage, "cached_tokens", None) is None:
        fix = TELL_CACHE.get(server.name, "a newer llama-server reports them")
        yield Check("cached tokens are not reported: thimble estimates them (~)", fix)


def _version(connection: Connection, path: str) -> str:
    """The version that the server reports at this path, or ""."""
    answer = None
    with suppress(ModelError):
        answer = connection.request_json(path)
    return str(answer.get("version") or "")[:40] if isinstance(answer, dict) else ""
