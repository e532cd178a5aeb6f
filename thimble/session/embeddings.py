"""The embeddings of a session: the embedder that the setting names, and the cache of its vectors."""

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


def vectors_folder() -> Path:
    """The folder of cached vectors, with a file for each model."""
    from platformdirs import user_cache_dir

    return Path(user_cache_dir("thimble"), "vectors")


def embedder_of(settings: Settings, progress: Callable[[int, int], object] = lambda done, of: None) -> Embedder | None:
    """The embedder that the settings name, with cached vectors; None if search is by words alone.

    It sends and reads nothing before the first text is embedded.

    Args:
        settings: `embeddings`, and the addresses of servers.
        progress: Called with the number of embedded texts and of all texts.

    Raises:
        UsageError: The static vectors are named and not installed, or an address is invalid.
    """
    from thimble.models.embeddings.kept import KeptEmbedder

    embedder = make_uncached(settings)
    return KeptEmbedder(embedder, vectors_folder(), progress) if embedder else None


def make_uncached(settings: Settings) -> Embedder | None:
    """The same embedder without the cache. Raises UsageError."""
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
        raise UsageError("the static embeddings are not installed", f"{INSTALL}; or use --embeddings {NONE}")
    return found
