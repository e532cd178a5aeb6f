"""The curves of a training as a picture: the loss, or what replies earn and how long they are, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

CURVES = {"loss": "loss", "reward": "reward", "completions/mean_length": "tokens of a reply"}
"""What the trainers log, and what it is called here."""
WIDTH, HEIGHT, EDGE = 640, 160, 40
SMOOTH = 10
"""Steps whose mean is drawn."""


def write_curve(path: Path, logged: Sequence[Mapping[str, Any]]) -> None:
    """Write an SVG file with a curve for each quantity that was logged; each point is a mean of the last steps."""
    rows = {told: [float(one[name]) for one in logged if name in one] for name, told in CURVES.items()}
    drawn = [
        (told, values) for told, values in rows.items() if len(values) > 1 and (told != "loss" or not rows["reward"])
    ]
    height = HEIGHT * len(drawn)
    lines = [piece for at, (told, values) in enumerate(drawn) for piece in _curve(at * HEIGHT, told, values)]
    size = f'viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" font-size="12"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    path.write_text("\n".join([head, '<rect width="100%" height="100%" fill="white"/>', *lines, "</svg>\n"]), "utf-8")


def _curve(top: int, told: str, values: Sequence[float]) -> Iterator[str]:
    """A curve with its name, its least and greatest value, and the number of steps."""
    means = [sum(part) / len(part) for at in range(len(values)) if (part := values[max(0, at - SMOOTH + 1) : at + 1])]
    least, most = min(means), max(means)
    across, up = (WIDTH - 2 * EDGE) / (len(means) - 1), (HEIGHT - 2 * EDGE) / ((most - least) or 1)
    points = [
        f"{EDGE + at * across:.1f},{top + HEIGHT - EDGE - (mean - least) * up:.1f}" for at, mean in enumerate(means)
    ]
    yield f'<polyline points="{" ".join(points)}" fill="none" stroke="#1f6feb"/>'
    for x, y, text in (
        (EDGE, top + 20, f"{told}, mean of {SMOOTH} steps"),
        (2, top + EDGE + 4, f"{most:.3g}"),
        (2, top + HEIGHT - EDGE + 4, f"{least:.3g}"),
        (WIDTH - EDGE - 60, top + HEIGHT - 14, f"{len(means)} steps"),
    ):
        yield f'<text x="{x}" y="{y}">{text}</text>'
