"""How near our counts of a recorded run's prompts are to those of its provider."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

CLOSE = 0.02
"""A predicted prompt is close to the reported one if it differs by at most this share of it."""
LEAST_REPORTS = 3


def calibrated(predicted: Sequence[int | None], reported: Sequence[int | None]) -> dict[str, Any]:
    """How many reported prompts are close to ours, by the line through them (least squares).

    `unseen_tokens` is its height: what is in the prompts and not in the file, such as a system prompt. `token_ratio` is
    its slope: tokens of the provider for one of ours. Both are None for fewer than three calls.
    """
    pairs = [(ours, theirs) for ours, theirs in zip(predicted, reported, strict=True) if ours and theirs]
    found: dict[str, Any] = {"reported_calls": len(pairs), "close_calls": 0, "unseen_tokens": None, "token_ratio": None}
    if len(pairs) < LEAST_REPORTS:
        return found
    mean_x, mean_y = (sum(column) / len(pairs) for column in zip(*pairs, strict=True))
    spread = sum((x - mean_x) ** 2 for x, _ in pairs)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in pairs) / spread if spread else 1.0
    height = mean_y - slope * mean_x
    close = sum(abs(height + slope * x - y) <= CLOSE * y for x, y in pairs)
    return found | {"close_calls": close, "unseen_tokens": round(height), "token_ratio": round(slope, 3)}
