"""Model backends, a file or folder each, and the token counters.

A backend is made by its row in `BACKENDS`, which imports it when it is wanted and not before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from agent.errors import UsageError
from agent.protocols import Backend


def make(name: str, model: str = "", base_url: str = "", *, pace: float = 0) -> Backend:
    """The backend of this name.

    Args:
        name: A row of BACKENDS.
        model: Name of a model; "" for the backend's own choice, for which a server is asked what it has.
        base_url: Address of a model server, in any form that OLLAMA_HOST may have; "" for the usual one.
        pace: Tokens a second at which the reader streams; 0 at once.

    Raises:
        UsageError: There is no such backend, or the address is none.
        ModelError: The server has no model to choose.
    """
    if name not in BACKENDS:
        raise UsageError(f"there is no backend {name!r}", f"choose one of {', '.join(BACKENDS)}")
    return BACKENDS[name](model, base_url, pace)


def _ollama(model: str, base_url: str, pace: float) -> Backend:
    from models.ollama import Ollama, capabilities, choose_model, host_url, installed

    url = host_url(base_url)
    chosen = model or choose_model(installed(url), can_call_tools=lambda name: "tools" in capabilities(name, url))
    return Ollama(chosen, url)


def _reader(model: str, base_url: str, pace: float) -> Backend:
    from models.reader import Reader
    from models.tokens import counter_for

    return Reader(counter_for("qwen2.5:7b"), pace=pace)


BACKENDS: Mapping[str, Callable[[str, str, float], Backend]] = {
    "ollama": _ollama,
    "reader": _reader,
}
