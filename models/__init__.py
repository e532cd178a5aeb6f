"""Model backends, a file or folder each, and the token counters.

A server is a row of `SERVERS`; the built-in reader needs none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from agent.errors import ModelError, UsageError
from agent.protocols import Backend, Embedder
from models.gguf import GGUF
from models.ollama import OLLAMA
from models.openai import OPENAI, VLLM
from models.server import REPLY_TOKENS, THINKING_TOKENS, Check, Kind, Server, ServerOptions

if TYPE_CHECKING:
    from models.hardware import Hardware

READER = "reader"

SERVERS: Mapping[str, Kind] = {"ollama": OLLAMA, "vllm": VLLM, "openai": OPENAI, "gguf": GGUF}
"""The kinds of model server by name, in the order in which they are looked for; `gguf` is this machine, without one."""


def built_in(pace: Hardware | None = None) -> Backend:
    """The built-in reader, at the pace of a described machine; at once where there is none."""
    from models.counting.choose import counter_for
    from models.reader import Reader

    return Reader(counter_for("qwen2.5:7b"), pace=pace)


def server_at(name: str, base_url: str = "", options: ServerOptions | None = None) -> Server:
    """The server of this name.

    Args:
        name: A row of SERVERS.
        base_url: Its address, in any form that OLLAMA_HOST may have; "" for the usual one.
        options: Settings of the requests.

    Raises:
        UsageError: There is no such backend, or the address is invalid.
    """
    if name not in SERVERS:
        raise UsageError(f"there is no backend {name!r}", f"choose one of {', '.join([*SERVERS, READER])}")
    return SERVERS[name].server(base_url, options or ServerOptions())


def backend_on(server: Server, model: str, room: int) -> Backend:
    """A backend for a model of this server, with room for so many tokens of prompt and reply. Raises ModelError."""
    from models.text_calls.caller import ToolCaller

    return ToolCaller(SERVERS[server.name].backend(server, model, room), server.options.calls)


def embedder_on(server: Server, model: str) -> Embedder:
    """The embeddings of a model of this server. Sends nothing."""
    return SERVERS[server.name].embedder(server, model)


def checks(server: Server, model: str) -> Iterator[Check]:
    """The doctor's findings about a server: connection, model, tools, context, tokenizer, cache, calls. Never raises.

    Args:
        server: The server to examine.
        model: The model that was asked for; "" for the server's own choice.
    """
    from models.text_calls.caller import ToolCaller

    yield from SERVERS[server.name].checks(server, model)
    with suppress(ModelError):
        yield ToolCaller(SERVERS[server.name].backend(server, server.choose(model), 0), server.options.calls).how()


def find(base_url: str = "", options: ServerOptions | None = None, seconds: float = 0.3) -> Server | None:
    """The first server that answers at this address, or with "" at the usual address of its kind.

    Raises:
        UsageError: The address is invalid.
    """
    candidates = (server_at(name, base_url, options) for name in SERVERS)
    return next((each for each in candidates if each.answers(seconds)), None)


def room(budget_tokens: int) -> int:
    """Tokens that a call with a prompt of `budget_tokens` may need, thinking and reply included."""
    return budget_tokens + REPLY_TOKENS + THINKING_TOKENS


def make(
    name: str, model: str = "", base_url: str = "", *, pace: Hardware | None = None, budget: int = 8000
) -> Backend:
    """A backend in one step: the reader, or a model on the server of this name. Raises UsageError and ModelError."""
    if name == READER:
        return built_in(pace)
    found = server_at(name, base_url)
    return backend_on(found, model or found.choose(), room(budget))
