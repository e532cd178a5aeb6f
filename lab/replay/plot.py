"""A figure of a replay: the cost of each strategy against sending everything, by price and length of the runs."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agent.errors import UsageError
from lab.replay.cost_tables import LOWER, MEDIAN, UPPER, over_runs, runs_of
from lab.replay.rows import Row


def check(path: Path) -> None:
    """Check before the work that a figure can be drawn.

    Raises:
        UsageError: matplotlib is not installed, or there is no such folder.
    """
    if find_spec("matplotlib") is None:
        raise UsageError("--plot needs matplotlib", "pip install 'thimble[plots]', or leave --plot out")
    if path.suffix.lower() not in (".png", ".svg", ".pdf") or not path.parent.is_dir():
        raise UsageError(f"--plot {path} cannot be written", "give a path that ends in .png, in a folder that exists")


def plot(rows: Sequence[Row], raw: Row, path: Path) -> None:
    """Draw the figure: a panel for each class of runs, a line for each strategy.

    A dot for each price is the median run, on a line from quartile to quartile.

    Raises:
        UsageError: the file cannot be written.
    """
    from matplotlib.figure import Figure

    names = [name for name, entry in raw["by_turns"].items() if entry["runs"]]
    shown = [row for row in rows if row["strategy"] != raw["strategy"]] or [raw]
    figure = Figure(figsize=(3.2 + 2.6 * len(names), 1.6 + 0.34 * len(shown)), layout="constrained")
    panels = figure.subplots(1, len(names), sharex=True, sharey=True, squeeze=False)[0]
    for panel, name in zip(panels, names, strict=True):
        _draw(panel, [row["by_turns"][name] for row in shown], list(raw["cost"]))
        panel.set_title(runs_of(name, raw), fontsize=10)
    panels[0].set_yticks(range(len(shown)), [row["strategy"] for row in shown])
    panels[0].set_ylim(len(shown) - 0.5, -0.5)
    figure.supxlabel("cost against sending everything, %: the median run, from quartile to quartile", fontsize=10)
    dots = panels[0].get_legend_handles_labels()
    place: dict[str, Any] = {"loc": "outside upper right", "ncols": len(raw["cost"]), "columnspacing": 1}
    figure.legend(*dots, title="price of a cached token", frameon=False, handletextpad=0, **place)
    try:
        figure.savefig(path, dpi=150)
    except OSError as error:
        raise UsageError(f"{path} cannot be written: {error.strerror}", "give another path") from error


def _draw(panel: Any, entries: Sequence[Row], prices: Sequence[str]) -> None:
    from matplotlib import colormaps

    panel.axvline(0, color="0.25", linewidth=1)
    for number, price in enumerate(prices):
        lower, median, upper = (
            [over_runs(entry, place)[number] for entry in entries] for place in (LOWER, MEDIAN, UPPER)
        )
        colour = colormaps["viridis"](number / max(1, len(prices)))
        heights = [height + 0.12 * (number - (len(prices) - 1) / 2) for height in range(len(entries))]
        panel.hlines(heights, lower, upper, color=[colour], linewidth=1.5)
        panel.scatter(median, heights, color=[colour], s=24, zorder=3, label=f"{float(price):.4g}")
    panel.grid(color="0.9")
    panel.set_axisbelow(True)
    panel.tick_params(length=0)
    panel.spines[:].set_visible(False)
