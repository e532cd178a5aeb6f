"""A simulation for people: the growth of each prompt in blocks, tables for a terminal, and a report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

from agent.budget import Prices
from lab.forms import drawn
from lab.report.report import Report
from lab.simulate.rows import Simulated
from session import figures

if TYPE_CHECKING:
    from rich.console import Console

BLOCKS = " ▁▂▃▄▅▆▇█"
WIDE, HIGH = 76, 3
AT = (10, 50, 100, 250)
"""The turns in the table."""
BAND = 25
"""Turns in a cell of the heat map."""


def show(console: Console, found: Sequence[Simulated], prices: Sequence[Prices], headline: str) -> None:
    """Print the charts, each on a scale of its own, and tables."""
    from rich.text import Text

    say = partial(console.print, highlight=False, markup=False)
    say(headline)
    for one in found:
        say(f"\n{one.strategy}: {_range(one)}")
        say("\n".join(chart([turn.prompt for turn in one.turns])))
    last = len(found[0].turns)
    at = [number for number in AT if number < last] + [last]
    sizes = drawn(["prompt tokens at turn", *(f"{number:,}" for number in at), "formula"])
    sums = drawn(["all turns", "prompt", "prefill", "cached", "side", *(f"@{price.cached:g}" for price in prices)])
    for one in found:
        cells = [figures.tokens(one.turns[number - 1].prompt) for number in at]
        sizes.add_row(*map(Text, [one.strategy, *cells, _checked(one)]))
        cached = "?" if one.cached is None else f"{one.cached:.1%}"
        costs = [figures.short(round(cost)) for cost in one.turns[-1].costs]
        tokens = [figures.short(one.prompt), figures.short(one.prefill)]
        sums.add_row(*map(Text, [one.strategy, *tokens, cached, f"{one.side_calls}", *costs]))
    say("", sizes, "", sums, sep="\n")
    if meetings := list(cheaper(found)):
        crossed = drawn(["all calls so far cost less from turn", *(f"@{price.cached:g}" for price in prices)])
        for name, other, turns in meetings:
            crossed.add_row(*map(Text, [f"{name} than {other}", *(f"{turn or '–'}" for turn in turns)]))
        say("", crossed, sep="\n")
    for line in differences(found):
        say(f"\n{line}")


def chart(values: Sequence[int | None]) -> list[str]:
    """The values as columns of blocks, from 0; a column shows the most of its turns, so that no tooth is lost."""
    columns = min(WIDE, len(values))
    cuts = [len(values) * column // columns for column in range(columns + 1)]
    tops = [max((value or 0 for value in values[a:b]), default=0) for a, b in pairwise(cuts)]
    heights = [round(8 * HIGH * top / max(1, *tops)) for top in tops]
    rows = range(HIGH - 1, -1, -1)
    return ["".join(BLOCKS[min(8, max(0, height - 8 * row))] for height in heights) for row in rows]


def cheaper(found: Sequence[Simulated]) -> Iterator[tuple[str, str, list[int | None]]]:
    """Pairs of strategies, and at each price the turn from which on all calls of the first have cost less."""
    for one in found:
        for other in found:
            costs = zip(*([turn.costs for turn in each.turns] for each in (one, other)), strict=True)
            less = [[a < b for a, b in zip(*pair, strict=True)] for pair in costs]
            turns = [_from(column) for column in zip(*less, strict=True)]
            if any(turns):
                yield one.strategy, other.strategy, turns


def _from(holds: Sequence[bool]) -> int | None:
    """The turn from which on it holds to the end."""
    last = next((number for number in range(len(holds), 0, -1) if not holds[number - 1]), 0)
    return last + 1 if last < len(holds) else None


def differences(found: Sequence[Simulated]) -> Iterator[str]:
    """Where formula and code part."""
    for one in found:
        turn = one.differs
        if turn and turn.by_formula:
            prompt, prefill = turn.by_formula
            theirs = f"{prompt:,} tokens, {prefill:,} of them computed, by the formula"
            ours = f"{figures.tokens(turn.prompt)} and {figures.tokens(turn.prefill)} by thimble"
            yield f"{one.strategy} differs from turn {turn.number} on: {theirs}; {ours}"


def page(found: Sequence[Simulated], prices: Sequence[Prices], headline: str, command: str) -> Report:
    """The report: the growth of the prompts, the cost up to each turn, and what a cache holds."""
    report = Report("A run of equal turns under each strategy", command, headline)
    report.text(
        "The run repeats one turn, as in Eq. 7 and Figure 8 of The Complexity Trap (Lindenbauer et al. 2025). Cost is "
        "prefill + c · cached tokens of all calls up to a turn, and the strategy's own replies at the price of output.",
        *differences(found),
    )
    turns = ("turn", [turn.number for turn in found[0].turns])
    prompts = {one.strategy: [turn.prompt for turn in one.turns] for one in found}
    report.lines("Tokens of the prompt", turns, prompts, unit="tokens", caption="What each call is sent.")
    managed = {name: values for name, values in prompts.items() if name != "none"}
    if len(managed) < len(prompts) and managed:
        report.lines("The same without none", turns, managed, unit="tokens", caption="On a scale of their own.")
    for place, price in enumerate(prices):
        costs = {one.strategy: [round(turn.costs[place]) for turn in one.turns] for one in found}
        title = f"Cost so far, a cached token at {price.cached:g}"
        report.lines(title, turns, costs, unit="computed prompt tokens")
    starts = range(0, len(found[0].turns), BAND)
    shares = [[_cached(one, start) for start in starts] for one in found]
    labels = [f"{start + 1}–{min(start + BAND, len(found[0].turns))}" for start in starts]
    rows = ("strategy", [one.strategy for one in found])
    report.heat("Share of the prompt that is cached", rows, ("turns", labels), shares, unit="percent")
    told = [{"strategy": one, "costs less than": other}
            | {f"from turn on, cached {price.cached:g}": turn for price, turn in zip(prices, at, strict=True)}
            for one, other, at in cheaper(found)]  # fmt: skip
    report.table("Where the sums of cost cross", told, caption="? means: not at the end.")
    report.table("All turns", [_sums(one, prices) for one in found])
    by_formula = {f"{one.strategy}, by the formula": [turn.by_formula and turn.by_formula[0] for turn in one.turns]
                  for one in found if one.has_formula}  # fmt: skip
    if by_formula:
        report.lines("By the formula of the paper", turns, by_formula, unit="tokens")
    return report


def _range(one: Simulated) -> str:
    sent = [(turn.prompt, turn.number) for turn in one.turns if turn.prompt is not None]
    if not sent:
        return "no prompt fits the budget"
    most, turn = max(sent, key=lambda one: one[0])
    told = f"at most {most:,} tokens, first at turn {turn:,}"
    falls = [(before, after, at) for (before, _), (after, at) in pairwise(sent) if after < before]
    if len(falls) < 2:
        return told
    (_, _, first), (high, low, last) = falls[-2:]
    return f"{told}; at turn {last} it falls from {high:,} to {low:,}, {last - first} turns after the fall before"


def _checked(one: Simulated) -> str:
    if not one.has_formula:
        return "–"
    return f"differs from {one.differs.number}" if one.differs else "agrees"


def _cached(one: Simulated, start: int) -> float | None:
    """Percent of the prompt tokens of a band of turns."""
    band = one.turns[start : start + BAND]
    prompt = sum(turn.prompt or 0 for turn in band)
    return round(100 - 100 * sum(turn.prefill or 0 for turn in band) / prompt, 1) if prompt else None


def _sums(one: Simulated, prices: Sequence[Prices]) -> dict[str, str | int | float | None]:
    costs = {f"cost at {price.cached:g}": cost for price, cost in zip(prices, one.turns[-1].costs, strict=True)}
    return {
        "strategy": one.strategy,
        "prompt": one.prompt,
        "prefill": one.prefill,
        "cached share": one.cached,
        "side calls": one.side_calls,
        "side tokens": one.side_tokens,
        **costs,
        "formula": _checked(one),
    }
