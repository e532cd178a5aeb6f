"""A figure of a replay: what each strategy costs against sending everything, by price and by how long the runs are."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agent.errors import UsageError
from lab.replay.rows import Row
from lab.replay.tables import against


def plot(rows: Sequence[Row], raw: Row, path: Path) -> None:
    """Draw it: a panel a class of runs, a line a strategy, a dot a price. PNG, or what the name ends in.

    Raises:
        UsageError: matplotlib is not installed, or the file cannot be written.
    """
    try:
        from matplotlib import colormaps
        from matplotlib.figure import Figure
    except ImportError as error:
        raise UsageError("--plot needs matplotlib", "pip install 'thimble[plots]', or leave --plot out") from error
    names = [name for name, entry in raw["by_turns"].items() if entry["runs"]]
    shown = [row for row in rows if row["strategy"] != "none"]
    prices = list(raw["cost"])
    figure = Figure(figsize=(3.2 + 2.6 * len(names), 1.6 + 0.34 * len(shown)), layout="constrained")
    panels = figure.subplots(1, len(names), sharey=True, squeeze=False)[0]
    places = range(len(shown))
    for panel, name in zip(panels, names, strict=True):
        of = raw["by_turns"][name]
        panel.axvline(0, color="0.25", linewidth=1)
        for number, price in enumerate(prices):
            costs = [against(row["by_turns"][name], of, price) or 0.0 for row in shown]
            colour = colormaps["viridis"](number / max(1, len(prices)))
            panel.scatter(costs, places, color=[colour], s=34, zorder=3, label=f"{float(price):.4g}")
        panel.set_title(f"{name.replace('-', '–')} turns ({of['runs']} runs)", fontsize=10)
        panel.set_yticks(list(places), [row["strategy"] for row in shown])
        panel.set_axisbelow(True)
        panel.grid(color="0.9")
        panel.tick_params(length=0)
        panel.spines[:].set_visible(False)
    panels[0].invert_yaxis()
    figure.supxlabel("cost against sending everything, %", fontsize=10)
    figure.legend(*panels[0].get_legend_handles_labels(), title="price of a cached token", ncols=len(prices), loc="outside upper right", frameon=False)
    try:
        figure.savefig(path, dpi=150)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} cannot be written: {error}", "give --plot a path that ends in .png") from error
