"""Model backends, a file or folder each, and the token counters.

A server is a row of `SERVERS`, or of an installed package (entry points `thimble.backends`); the built-in reader needs
none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

from thimble.agent.errors import UsageError
from thimble.agent.protocols import Backend, Embedder
from thimble.models.server import DEFAULT_MODEL, REPLY_TOKENS, THINKING_TOKENS, Check, Server, ServerOptions
from thimble.plugins import load_plugin, plugin_error, plugins

if TYPE_CHECKING:
    from thimble.models.hardware import Hardware
    from thimble.models.tool_calls.caller import ToolCaller

READER = "reader"

SERVERS: Mapping[str, str] = {"ollama": "ollama", "vllm": "openai", "openai": "openai", "gguf": "gguf"}
"""The folder of each kind of model server, in the order in which they are looked for; `gguf` is this machine.

A folder has the files server.py, backend.py, checks.py and embedder.py, each with a function of the name of its file.
"""


def _of(kind: str, part: str) -> Any:
    """The function `part` of a kind of server; its module is imported when needed.

    For an installed package, that is the module that its entry point names. Raises UsageError.
    """
    if kind in SERVERS:
        return getattr(import_module(f"thimble.models.{SERVERS[kind]}.{part}"), part)
    plugin = plugins("backends")[kind]
    try:
        return getattr(load_plugin(plugin), part)
    except AttributeError as error:
        raise plugin_error(plugin, error) from error


def make_reader(pace: Hardware | None = None) -> Backend:
    """The built-in reader, at the pace of a described machine; without delay for None."""
    from thimble.models.counting.vocabulary import counter_for
    from thimble.models.reader import Reader

    return Reader(counter_for(DEFAULT_MODEL), pace=pace)


def server_at(name: str, base_url: str = "", options: ServerOptions | None = None) -> Server:
    """The server of this name.

    Args:
        name: A row of SERVERS, or the backend of an installed package.
        base_url: Its address, in any form that OLLAMA_HOST may have; "" for the usual one.
        options: Settings of the requests.

    Raises:
        UsageError: The backend is unknown, its package cannot be imported, or the address is invalid.
    """
    if name not in SERVERS and name not in plugins("backends"):
        known = dict.fromkeys([*SERVERS, READER, *plugins("backends")])
        raise UsageError(f"there is no backend {name!r}", f"choose one of {', '.join(known)}")
    found: Server = _of(name, "server")(name, base_url, options or ServerOptions())
    return found


def backend_on(server: Server, model: str, room: int) -> ToolCaller:
    """A backend for a model of this server, with `room` tokens for prompt and reply. Raises ModelError."""
    from thimble.models.tool_calls.caller import ToolCaller
    from thimble.models.wire.address import is_loopback

    backend = _of(server.name, "backend")(server, model, room)
    return ToolCaller(backend, server.options.calls, is_local=is_loopback(server.url))


def embedder_on(server: Server, model: str) -> Embedder:
    """The embeddings of a model of this server. Sends nothing."""
    found: Embedder = _of(server.name, "embedder")(server, model)
    return found


def checks(server: Server, wanted: str, budget: int) -> Iterator[Check]:
    """The doctor's findings about a server and its model. Raises ModelError, and UsageError for a broken package.

    Args:
        server: The server to examine.
        wanted: The requested model; "" for the server's own choice.
        budget: Tokens of a prompt.
    """
    caller = backend_on(server, server.choose(wanted), call_room(budget))
    yield from _of(server.name, "checks")(server, caller)
    yield from caller.checks(budget)


def find_server(base_url: str = "", options: ServerOptions | None = None, seconds: float = 0.3) -> Server | None:
    """The first server that answers at this address, or with "" at the usual address of its kind.

    Raises:
        UsageError: The address is invalid.
    """
    candidates = (server_at(name, base_url, options) for name in SERVERS)
    return next((each for each in candidates if each.answers(seconds)), None)


def call_room(budget_tokens: int) -> int:
    """Tokens that a call with a prompt of `budget_tokens` may need, thinking and reply included."""
    return budget_tokens + REPLY_TOKENS + THINKING_TOKENS


def make_backend(
    name: str, model: str = "", base_url: str = "", *, pace: Hardware | None = None, budget: int = 4000
) -> Backend:
    """A backend in one step: the reader, or a model on the server of this name. Raises UsageError and ModelError."""
    if name == READER:
        return make_reader(pace)
    found = server_at(name, base_url)
    return backend_on(found, model or found.choose(), call_room(budget))
