"""The progress of a download, from the server's reports on each layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from thimble.models.wire.bounds import TOLD_CHARACTERS, name
from thimble.models.wire.http import figure

LAYERS = 1_000
"""The most layers of a download that are counted."""


@dataclass(frozen=True, slots=True)
class PullProgress:
    """How far a download is: the server's current step, and the bytes of all layers named so far."""

    status: str
    done_bytes: int = 0
    total_bytes: int = 0


@dataclass
class Download:
    """Adds up the layers of a download. Impossible figures are ignored, and progress never runs backwards."""

    _done: dict[str, int] = field(default_factory=dict)
    _total: dict[str, int] = field(default_factory=dict)

    def add(self, step: Mapping[str, Any]) -> PullProgress:
        """The progress after one more line from the server."""
        layer, total, done = name(step.get("digest")), figure(step.get("total")), figure(step.get("completed"))
        known = layer in self._total or len(self._total) < LAYERS
        if layer and total and known:
            self._total[layer] = max(total, self._total.get(layer, 0))
            self._done[layer] = min(max(done or 0, self._done.get(layer, 0)), self._total[layer])
        return PullProgress(
            str(step.get("status") or "")[:TOLD_CHARACTERS], sum(self._done.values()), sum(self._total.values())
        )
