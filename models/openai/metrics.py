"""Facts about vLLM's prefix cache from /metrics, if we may read them."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass

from agent.errors import ModelError
from models.openai.connection import Connection

_FIGURE = re.compile(
    r"^vllm:(gpu_)?(prefix_cache_queries|prefix_cache_hits|kv_cache_usage_perc|cache_usage_perc)(?:_total)?"
    r"(?:\{[^\n]*\})? ([0-9.e+]{1,32})\s*$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class PrefixCache:
    """Tokens looked up in the cache and found there since the server started; how full it is, from 0 to 1."""

    queries: int
    hits: int
    used: float | None = None

    def found(self, before: PrefixCache, prompt_tokens: int | None) -> int | None:
        """Cached tokens of one prompt, if there was no other request between the two readings; else None."""
        queries, hits = self.queries - before.queries, self.hits - before.hits
        return hits if queries == prompt_tokens and 0 <= hits <= queries else None


def prefix_cache(connection: Connection) -> PrefixCache | None:
    """The current figures, over all engines; None if there are no metrics or we may not read them."""
    with suppress(ModelError):
        return read(connection.fetched("/metrics").decode(errors="replace"))
    return None


def read(text: str) -> PrefixCache | None:
    """The figures in the Prometheus text; older builds use names with gpu_, and some use both."""
    found: dict[tuple[str, str], float] = {}
    for gpu, name, value in _FIGURE.findall(text):
        with suppress(ValueError):
            found[name, gpu] = found.get((name, gpu), 0.0) + float(value)
    figures = {name: found.get((name, ""), found.get((name, "gpu_"))) for name, _ in found}
    queries, hits = figures.get("prefix_cache_queries"), figures.get("prefix_cache_hits")
    if queries is None or hits is None or max(queries, hits) >= 2**63:
        return None
    return PrefixCache(int(queries), int(hits), figures.get("kv_cache_usage_perc", figures.get("cache_usage_perc")))
