"""Model backends, a file or folder each, and the token counters.

A server is made by its row in `SERVERS`, which imports it when it is wanted and not before. The reader has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agent.errors import UsageError
from agent.protocols import Backend
from models.server import REPLY_TOKENS, THINKING_TOKENS, Manner, Server

READER = "reader"


def built_in(pace: float = 0) -> Backend:
    """The reader, which streams at so many tokens a second; 0 is at once."""
    from models.counting.counters import counter_for
    from models.reader import Reader

    return Reader(counter_for("qwen2.5:7b"), pace=pace)


def server_at(name: str, base_url: str = "", manner: Manner | None = None) -> Server:
    """The server of this name.

    Args:
        name: A row of SERVERS.
        base_url: Its address, in any form that OLLAMA_HOST may have; "" for the usual one.
        manner: How it is spoken to.

    Raises:
        UsageError: There is no such backend, or the address is none.
    """
    if name not in SERVERS:
        raise UsageError(f"there is no backend {name!r}", f"choose one of {', '.join([*SERVERS, READER])}")
    return SERVERS[name](base_url, manner or Manner())


def find(base_url: str = "", manner: Manner | None = None, seconds: float = 0.3) -> Server | None:
    """The first server that answers at an address; without one, at the usual address of each kind.

    Raises:
        UsageError: The address is none.
    """
    candidates = (server_at(name, base_url, manner) for name in SERVERS)
    return next((each for each in candidates if each.answers(seconds)), None)


def room(budget_tokens: int) -> int:
    """Tokens that a call with such a prompt may need, its reply and the thinking before it included."""
    return budget_tokens + REPLY_TOKENS + THINKING_TOKENS


def make(name: str, model: str = "", base_url: str = "", *, pace: float = 0, budget: int = 8000) -> Backend:
    """A backend in one step: the reader, or a model on the server of this name. Raises UsageError and ModelError."""
    if name == READER:
        return built_in(pace)
    found = server_at(name, base_url)
    return found.backend(model or found.choose(), room(budget))


def _ollama(base_url: str, manner: Manner) -> Server:
    from models.ollama.server import OllamaServer

    return OllamaServer(base_url, manner)


def _vllm(base_url: str, manner: Manner) -> Server:
    from models.openai.server import OpenAIServer

    return OpenAIServer(base_url, manner, name="vllm")


def _openai(base_url: str, manner: Manner) -> Server:
    from models.openai.server import OpenAIServer

    return OpenAIServer(base_url, manner)


SERVERS: Mapping[str, Callable[[str, Manner], Server]] = {
    "ollama": _ollama,
    "vllm": _vllm,
    "openai": _openai,
}
