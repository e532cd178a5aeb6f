"""Compare our token counts of a recorded run's prompts with those of its provider."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import Any

from thimble.commands.trajectories import Trajectory

CLOSE = 0.02
"""A prediction is close to the reported tokens if they differ by at most this share of the prompt."""
MIN_REPORTS = 3


def measure_calibration(run: Trajectory, predicted: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """Compare `predicted` prompts and their cached parts with those that the provider measured, in tokens.

    A line is fitted to the prompts of each context (least squares), with one slope for all: `token_ratio`, the
    provider's tokens for one of ours. `unseen_tokens` is the mean intercept: the part of a prompt that is not in the
    file, such as a system prompt. Contexts with fewer than three calls are left out.
    """
    contexts: dict[int, list[tuple[int, int, int, int | None]]] = {}
    for at, sizes in zip(run.calls, predicted, strict=True):
        own = run.call(at).reported
        if own.prompt:
            context = sum(one.since <= at for one in run.sent)
            contexts.setdefault(context, []).append((*sizes, own.prompt, own.cache_read))
    calls = list[tuple[int, int, int, int | None, float, float]]()
    for rows in contexts.values():
        mean = fmean(row[0] for row in rows), fmean(row[2] for row in rows)
        calls += [(*row, *mean) for row in rows if len(rows) >= MIN_REPORTS]
    spread = sum((ours - x) ** 2 for ours, *_, x, _ in calls)
    ratio = sum((ours - x) * (theirs - y) for ours, _, theirs, _, x, y in calls) / (spread or 1)
    close = [
        abs(y + ratio * (ours - x) - theirs) <= CLOSE * theirs
        and (read is None or abs(y + ratio * (cached - x) - read) <= CLOSE * theirs)
        for ours, cached, theirs, read, x, y in calls
    ]
    return {
        "reported_calls": len(close),
        "close_calls": sum(close),
        "token_ratio": round(ratio, 3),
        "unseen_tokens": round(fmean(y - ratio * x for *_, x, y in calls)) if calls else 0,
    }
