"""The rows of a replay for people: tables in a terminal, and one in Markdown. Cost is in percent of `none`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from lab.replay.rows import Row

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

ROOM = 21
"""Columns for a class of runs at four prices."""


def against(entry: Mapping[str, Any], raw: Mapping[str, Any], price: str) -> float | None:
    """The extra cost against `none` at a price, in percent; None if nothing was sent."""
    cost: float = raw["cost"][price]
    return 100 * (entry["cost"][price] / cost - 1) if cost else None


def show(console: Console, rows: Sequence[Row], raw: Row) -> None:
    """Print two tables: over all runs, and by length of the runs (a table for each length if too wide)."""
    say = partial(console.print, highlight=False, markup=False)
    say(f"{_headline(raw)}\n\nCost against sending everything, in percent, at each price of a cached token:\n")
    say(_table(rows, raw))
    names = [name for name, entry in raw["by_turns"].items() if entry["runs"]]
    if len(names) < 2:
        return
    widest = max(len(row["strategy"]) for row in rows)
    if min(widest, 24) + ROOM * len(names) * len(raw["cost"]) / 4 <= console.width:
        say()
        say(_by_turns(rows, raw, names))
        return
    for name in names:
        entries = [{**row["by_turns"][name], "strategy": row["strategy"]} for row in rows]
        say(f"\n{runs_of(name, raw)}\n", _table(entries, raw["by_turns"][name]), sep="")


def markdown(rows: Sequence[Row], raw: Row) -> Iterator[str]:
    """One table of all strategies, at each price and length of runs, as lines of Markdown."""
    names = [name for name, entry in raw["by_turns"].items() if entry["runs"]]
    yield _headline(raw)
    yield f"Cost against sending everything, in percent, where a cached token costs {_prices(raw)}; dearer is bold.\n"
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
    """The replayed runs, in two sentences."""
    budget = "no budget" if raw["budget"] is None else f"budget {raw['budget']:,}"
    left_out = (
        f" ({_many(raw['refused'], 'more call')} left out, whose least view is over it)" if raw["refused"] else ""
    )
    cached = 1 - raw["prefill_tokens"] / raw["prompt_tokens"] if raw["prompt_tokens"] else 0
    return (
        f"{_many(raw['runs'], 'run')}, {_many(raw['calls'], 'call')}, {budget}{left_out}. Sending everything: "
        f"{raw['prompt_tokens']:,} prompt tokens, {cached:.1%} of them cached; "
        f"{raw.get('observation_share', 0):.0%} of the history is observations."
    )


def _prices(raw: Row) -> str:
    return ", ".join(f"{float(price):.4g}" for price in raw["cost"])


def runs_of(name: str, raw: Row) -> str:
    """A class of runs in words."""
    return f"{name.replace('-', '–')} turns, {_many(raw['by_turns'][name]['runs'], 'run')}"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _amounts(entry: Row) -> list[str]:
    names = ("prompt_tokens", "prefill_tokens", "over_budget", "edits", "side_calls")
    return [_short(entry[name]) for name in names]


def _short(amount: int) -> str:
    """The amount in thousands or millions, if it is that large."""
    if amount < 10_000:
        return f"{amount:,}"
    return f"{amount / 1e6:,.1f}M" if amount >= 999_500 else f"{amount / 1e3:,.0f}k"


def _drawn(columns: Sequence[str]) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(*columns, box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
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

    table = _drawn([f"cost at {_prices(raw)}", *(runs_of(name, raw) for name in names)])
    for row in rows:
        cells = [_cell(row["by_turns"][name], raw["by_turns"][name], width=4) for name in names]
        table.add_row(*map(Text, [row["strategy"], *cells]))
    return table
