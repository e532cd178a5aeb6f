"""The embeddings of a session: what the setting asks for, and where vectors are kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from thimble.agent.errors import UsageError
from thimble.session.settings import Settings, address_of, sends_key
from thimble.session.settings_table import NONE, STATIC, served_embeddings

if TYPE_CHECKING:
    from thimble.agent.protocols import Embedder

INSTALL = "pip install --no-deps wordllama"


def folder() -> Path:
    """Where vectors are kept, a file a model."""
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("thimble"), "vectors")


def embedder_of(settings: Settings, progress: Callable[[int, int], object] = lambda done, of: None) -> Embedder | None:
    """The embedder that the settings ask for, which keeps its vectors; None where words alone count.

    Nothing is sent or read before the first text is embedded.

    Args:
        settings: `embeddings`, and where servers are.
        progress: Told how many texts of how many are embedded.

    Raises:
        UsageError: The static vectors are asked for by name and are not installed, or an address is none.
    """
    from thimble.models.embeddings.kept import KeptEmbedder

    embedder = unkept(settings)
    return KeptEmbedder(embedder, folder(), progress) if embedder else None


def unkept(settings: Settings) -> Embedder | None:
    """The same embedder, which keeps nothing. Raises UsageError."""
    from thimble.models import embedder_on, server_at
    from thimble.models.embeddings.static import static_embedder
    from thimble.models.server import ServerOptions

    wanted = settings.embeddings
    if served := served_embeddings(wanted):
        address = served.url or address_of(served.kind, settings)
        named = bool(served.url) or sends_key(served.kind, settings)
        options = ServerOptions(timeout_seconds=settings.timeout, reply_seconds=settings.reply_timeout, sends_key=named)
        server = server_at(served.kind, address, options)
        return embedder_on(server, served.model)
    found = None if wanted == NONE else static_embedder()
    if found is None and wanted == STATIC:
        raise UsageError("the static embeddings are not installed", f"{INSTALL}; or take --embeddings {NONE}")
    return found
