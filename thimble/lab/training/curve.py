"""Draw the curves of a training: the loss, or the reward and the length of replies, step by step."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

CURVES = {"reward": "reward", "completions/mean_length": "tokens of a reply", "loss": "loss"}
"""The values that trainers log, and their titles. The loss of GRPO is meaningless: its mean is 0."""
WIDTH, HEIGHT, EDGE = 640, 160, 40
SMOOTH = 10
"""The number of steps of the moving average."""


def write_curve(path: Path, logged: Sequence[Mapping[str, Any]]) -> None:
    """Write an SVG file with one or two curves, one below the other; each point is the mean of the last steps."""
    found = {told: [one[name] for one in logged if name in one] for name, told in CURVES.items()}
    drawn = [(told, values) for told, values in found.items() if values][:2]
    curves = "".join(_curve(at * HEIGHT, *one) for at, one in enumerate(drawn))
    size = f'viewBox="0 0 {WIDTH} {HEIGHT * len(drawn)}" style="background: white; font: 12px sans-serif"'
    path.write_text(f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{curves}</svg>\n', "utf-8")


def _curve(top: int, told: str, values: Sequence[float]) -> str:
    """A curve from its minimum to its maximum, below its title."""
    parts = [values[max(0, at - SMOOTH) : at] for at in range(1, len(values) + 1)]
    means = [sum(part) / len(part) for part in parts]
    least, most = min(means), max(means)
    across, up = (WIDTH - 2 * EDGE) / len(means), (HEIGHT - 2 * EDGE) / ((most - least) or 1)
    points = " ".join(
        f"{EDGE + at * across:.1f},{top + EDGE + (most - mean) * up:.1f}" for at, mean in enumerate(means)
    )
    text = f"{told}, {least:.3g} to {most:.3g}; {len(means)} steps, each the mean of the last {SMOOTH}"
    line = f'<polyline points="{points}" fill="none" stroke="#1f6feb"/>'
    return f'{line}<text x="{EDGE}" y="{top + EDGE / 2}">{text}</text>'
