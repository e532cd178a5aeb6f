"""The rows of a replay for people: tables in a terminal, and one in Markdown. Cost is percent of what `none` costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from lab.replay.rows import Row

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

ROOM = 21
"""Columns that a class of runs takes at four prices."""


def against(entry: Mapping[str, Any], raw: Mapping[str, Any], price: str) -> float | None:
    """How much more than `none` it costs at a price, in percent; None where nothing was sent."""
    cost: float = raw["cost"][price]
    return 100 * (entry["cost"][price] / cost - 1) if cost else None


def show(console: Console, rows: Sequence[Row], raw: Row) -> None:
    """Two tables: over all runs, and by how long the runs are, which takes a table each where they are too wide."""
    console.print(_headline(raw), highlight=False)
    console.print("cost: percent of what sending everything costs, at each price of a cached token\n", highlight=False)
    console.print(_table(rows, raw))
    names = [name for name, entry in raw["by_turns"].items() if entry["runs"]]
    if len(names) < 2:
        return
    widest = max(len(row["strategy"]) for row in rows)
    if min(widest, 24) + ROOM * len(names) * len(raw["cost"]) / 4 <= console.width:
        console.print(_by_turns(rows, raw, names))
        return
    for name in names:
        console.print(f"\n{_runs(name, raw)}", highlight=False)
        console.print(_table([{**row["by_turns"][name], "strategy": row["strategy"]} for row in rows], raw["by_turns"][name]))


def markdown(rows: Sequence[Row], raw: Row) -> Iterator[str]:
    """One table of all strategies, at each price and length of runs, as lines of Markdown."""
    names = [name for name, entry in raw["by_turns"].items() if entry["runs"]]
    yield f"{_headline(raw)}. Cost: percent of what sending everything costs, where a cached token costs"
    yield f"{_prices(raw)} of another; **dearer** is bold.\n"
    classes = [f"{name.replace('-', '–')} turns" for name in names]
    yield f"| strategy | {' | '.join(classes)} | all | prompt | prefill | over | edits | side calls |"
    yield "|---" + "|--:" * (len(names) + 6) + "|"
    for row in rows:
        parts = [(row["by_turns"][name], raw["by_turns"][name]) for name in names]
        cells = [_cell(entry, of, "**{}**") for entry, of in [*parts, (row, raw)]]
        yield f"| {row['strategy']} | {' | '.join([*cells, *_amounts(row)])} |"


def percent(value: float | None) -> str:
    """A difference in whole percent, with its sign."""
    if value is None:
        return "–"
    return f"{value:+.0f}".replace("-", "−") if round(value) else "0"


def _cell(entry: Row, raw: Row, dearer: str = "{}", width: int = 0) -> str:
    values = [against(entry, raw, price) for price in raw["cost"]]
    return " ".join(
        (dearer if value is not None and round(value) > 0 else "{}").format(percent(value)).rjust(width)
        for value in values
    )


def _headline(raw: Row) -> str:
    budget = "none" if raw["budget"] is None else f"{raw['budget']:,}"
    refused = f" ({raw['refused']:,} more fit no view, and are left out)" if raw["refused"] else ""
    cached = 1 - raw["prefill_tokens"] / raw["prompt_tokens"] if raw["prompt_tokens"] else 0
    return (
        f"{raw['runs']:,} runs, {raw['calls']:,} calls{refused}, budget {budget}; sending everything: "
        f"{raw['prompt_tokens']:,} tokens, {cached:.1%} cached; observations {raw.get('observation_share', 0):.0%} of a run"
    )


def _prices(raw: Row) -> str:
    return ", ".join(f"{float(price):.4g}" for price in raw["cost"])


def _runs(name: str, raw: Row) -> str:
    return f"{name.replace('-', '–')} turns, {raw['by_turns'][name]['runs']} runs"


def _amounts(entry: Row) -> list[str]:
    return [
        f"{entry['prompt_tokens']:,}",
        f"{entry['prefill_tokens']:,}",
        f"{entry['over_budget']:,}",
        f"{entry['edits']:,}",
        f"{entry['side_calls']:,}",
    ]


def _drawn(columns: Sequence[str]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(*columns, box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for column in table.columns[1:]:
        column.justify, column.no_wrap = "right", True
    table.columns[0].overflow = "fold"
    return table


def _table(entries: Sequence[Row], raw: Row) -> Table:
    from rich.text import Text

    prices = [f"@{float(price):g}" for price in raw["cost"]]
    table = _drawn(["strategy", *prices, "prompt", "prefill", "over", "edits", "side"])
    for entry in entries:
        costs = [percent(against(entry, raw, price)) for price in raw["cost"]]
        table.add_row(*map(Text, [entry["strategy"], *costs, *_amounts(entry)]))
    return table


def _by_turns(rows: Sequence[Row], raw: Row, names: Sequence[str]) -> Table:
    from rich.text import Text

    table = _drawn([f"cost at {_prices(raw)}", *(_runs(name, raw) for name in names)])
    for row in rows:
        cells = [_cell(row["by_turns"][name], raw["by_turns"][name], width=4) for name in names]
        table.add_row(*map(Text, [row["strategy"], *cells]))
    return table
