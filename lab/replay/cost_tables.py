"""The rows of a replay for people: tables in a terminal, and one in Markdown. Cost is in percent of `none`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from lab.findings import drawn
from lab.replay.rows import Row

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

ROOM = 21
"""Columns for a class of runs at four prices."""
LOWER, MEDIAN, UPPER, WORST = 1, 2, 3, 4
"""Places in a spread."""
NAMED = 5
"""The most runs that the line about refused runs names."""


def against(entry: Mapping[str, Any], raw: Mapping[str, Any], price: str) -> float | None:
    """The extra cost against `none` at a price, in percent; None if nothing was sent."""
    cost: float = raw["cost"][price]
    return 100 * (entry["cost"][price] / cost - 1) if cost else None


def over_runs(entry: Row, place: int) -> list[float | None]:
    """One of the five percentages of the spread over the runs, at each price; None if there is no run."""
    return [spread and spread[place] for spread in entry["spread"].values()]


def show(console: Console, rows: Sequence[Row], raw: Row) -> None:
    """Print three tables: all tokens together, the spread over runs, and the median run by length of the runs."""
    say = partial(console.print, highlight=False, markup=False)
    say(f"{headline(raw)}\n\nCost against sending everything, in percent, at each price of a cached token.\n")
    say("All tokens together:\n", _together(rows, raw), sep="\n")
    if raw["runs"] < 2:
        return
    say("\nThe median run [and the quartiles], and the worst run:\n", _spread(rows, raw), sep="\n")
    names = [name for name, entry in raw["by_turns"].items() if entry["runs"]]
    if len(names) < 2:
        return
    say("\nThe median run by the length of the runs:\n")
    widest = max(len(row["strategy"]) for row in rows)
    together = min(widest, 24) + ROOM * len(names) * len(raw["cost"]) / 4 <= console.width
    for part in [names] if together else [[name] for name in names]:
        say(_by_turns(rows, raw, part))


def markdown(rows: Sequence[Row], raw: Row) -> Iterator[str]:
    """One table of all strategies, at each price and length of runs, as lines of Markdown."""
    names = [name for name, entry in raw["by_turns"].items() if entry["runs"]]
    yield headline(raw)
    yield f"Cost against sending everything, in percent, where a cached token costs {_prices(raw)}; dearer is bold.\n"
    classes = [runs_of(name, raw) for name in names]
    spread = ["lower quartile", "median run", "upper quartile", "worst run", "all tokens"]
    yield f"| strategy | {' | '.join([*classes, *spread])} | prompt | prefill | over | edits | side calls |"
    yield "|---" + "|--:" * (len(names) + len(spread) + 5) + "|"
    for row in rows:
        cells = [_cell(over_runs(row["by_turns"][name], MEDIAN), "**{}**") for name in names]
        cells += [_cell(over_runs(row, place), "**{}**") for place in (LOWER, MEDIAN, UPPER, WORST)]
        cells += [_cell([against(row, raw, price) for price in raw["cost"]], "**{}**")]
        yield f"| {row['strategy']} | {' | '.join([*cells, *map(' '.join, zip(*_each(row), strict=True))])} |"


def percent(value: float | None) -> str:
    """A difference in whole percent, with its sign."""
    if value is None:
        return "–"
    return f"{value:+.0f}".replace("-", "−") if round(value) else "0"


def _cell(values: Sequence[float | None], dearer: str = "{}", width: int = 0) -> str:
    return " ".join(
        (dearer if value is not None and round(value) > 0 else "{}").format(percent(value)).rjust(width)
        for value in values
    )


def headline(raw: Row) -> str:
    """The replayed runs in words: how many, how large, how unequal, and which were refused."""
    passing = sum(one["over_budget"] > 0 for one in raw["by_run"] if not one["refused"])
    budget = "no budget" if raw["budget"] is None else f"budget {raw['budget']:,} ({_many(passing, 'run')} over it)"
    cached = 1 - raw["prefill_tokens"] / raw["prompt_tokens"] if raw["prompt_tokens"] else 0
    told = (
        f"{_many(raw['runs'], 'run')}, {_many(raw['calls'], 'call')}, {budget}. Sending everything: "
        f"{raw['prompt_tokens']:,} prompt tokens, {cached:.1%} of them cached{_largest(raw)}; "
        f"{raw.get('observation_share', 0):.0%} of the history is observations."
    )
    return f"{told}{_refused(raw)}"


def _largest(raw: Row) -> str:
    """The runs that hold half of the tokens, where there are several."""
    sizes = sorted((one["prompt_tokens"] for one in raw["by_run"] if not one["refused"]), reverse=True)
    if len(sizes) < 2:
        return ""
    half = next(number for number, size in enumerate(accumulate(sizes), 1) if 2 * size >= sum(sizes))
    return f", half of them in {'one run' if half == 1 else f'{half:,} runs'}"


def _refused(raw: Row) -> str:
    """The runs with a call that cannot be sent."""
    names = [one["run"] for one in raw["by_run"] if one["refused"]]
    if not names:
        return ""
    named = ", ".join([*names[:NAMED], *["…"][: len(names) - NAMED]])
    calls = _many(raw["refused_runs"]["refused"], "call")
    return f" Not counted: {_many(len(names), 'run')} with {calls} whose least view is over the budget ({named})."


def _prices(raw: Row) -> str:
    return ", ".join(f"{float(price):.4g}" for price in raw["cost"])


def runs_of(name: str, raw: Row) -> str:
    """A class of runs in words."""
    return f"{name.replace('-', '–')} turns, {_many(raw['by_turns'][name]['runs'], 'run')}"


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _each(entry: Row) -> list[list[str]]:
    """The amounts of a row; a list for each price if the strategy depends on it."""
    return [_amounts(one) for one in entry.get("by_price", {"": entry}).values()]


def _amounts(entry: Row) -> list[str]:
    names = ("prompt_tokens", "prefill_tokens", "over_budget", "edits", "side_calls")
    return [_short(entry[name]) for name in names]


def _short(amount: int) -> str:
    """The amount in thousands or millions, if it is that large."""
    if amount < 10_000:
        return f"{amount:,}"
    return f"{amount / 1e6:,.1f}M" if amount >= 999_500 else f"{amount / 1e3:,.0f}k"


def _at(raw: Row) -> list[str]:
    return [f"@{float(price):g}" for price in raw["cost"]]


def _together(rows: Sequence[Row], raw: Row) -> Table:
    """A line for each strategy; one for each price where the strategy depends on it."""
    from rich.text import Text

    table = drawn(["strategy", *_at(raw), "prompt", "prefill", "over", "edits", "side"])
    for row in rows:
        costs = [percent(against(row, raw, price)) for price in raw["cost"]]
        lines = _each(row)
        for at, amounts in enumerate(lines):
            shown = costs if len(lines) == 1 else [cost if at == place else "" for place, cost in enumerate(costs)]
            table.add_row(*map(Text, ["" if at else row["strategy"], *shown, *amounts]))
    return table


def _spread(rows: Sequence[Row], raw: Row) -> Table:
    from rich.text import Text

    table = drawn(["strategy", *_at(raw)])
    for row in rows:
        spreads = [list(map(percent, spread)) for spread in row["spread"].values() if spread]
        cells = [f"{one[MEDIAN]} [{one[LOWER]} {one[UPPER]}] {one[WORST]:>4}" for one in spreads]
        table.add_row(*map(Text, [row["strategy"], *cells]))
    return table


def _by_turns(rows: Sequence[Row], raw: Row, names: Sequence[str]) -> Table:
    from rich.text import Text

    table = drawn([f"cost at {_prices(raw)}", *(runs_of(name, raw) for name in names)])
    for row in rows:
        cells = [_cell(over_runs(row["by_turns"][name], MEDIAN), width=4) for name in names]
        table.add_row(*map(Text, [row["strategy"], *cells]))
    return table
