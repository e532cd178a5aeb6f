"""Totals: sums over the calls of a ledger, and their cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from thimble.agent.budget import Prices
from thimble.agent.ledger import Amount, Call


def price_calls(spent: Call | Totals, prices: Prices) -> float | None:
    """The cost of calls at these prices, in computed prompt tokens; None if unknown."""
    prompt, cached, output = spent.prompt.tokens, spent.cached.tokens, spent.output.tokens
    if prompt is None or cached is None or output is None:
        return None
    return prices.prompt(prompt, cached) + prices.output * output


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over calls, in tokens and seconds. `turns` does not count the calls of strategies.

    `over` counts the calls over the budget; `most_over` is the most tokens over it.
    """

    calls: int
    turns: int
    prompt: Amount
    cached: Amount
    prefill: Amount
    output: Amount
    seconds: float
    raw_prompt: int
    raw_prefill: int
    waited: float
    over: int
    most_over: int


def add_up(calls: Iterable[Call]) -> Totals:
    """Add up calls. One unknown leaves only a least value of a sum; one estimate makes it an estimate."""
    rows = list(calls)
    return Totals(
        calls=len(rows),
        turns=sum(row.purpose == "answer" for row in rows),
        prompt=Amount.total([row.prompt for row in rows]),
        cached=Amount.total([row.cached for row in rows]),
        prefill=Amount.total([row.prefill for row in rows]),
        output=Amount.total([row.output for row in rows]),
        seconds=sum(row.seconds for row in rows),
        raw_prompt=sum(row.raw_prompt for row in rows),
        raw_prefill=sum(row.raw_prefill for row in rows),
        waited=sum(row.waited for row in rows),
        over=sum(row.over > 0 for row in rows),
        most_over=max((row.over for row in rows), default=0),
    )


def price_sums(sums: Totals, prices: Prices) -> Amount:
    """The cost of calls; a computed prompt token costs 1."""
    total = price_calls(sums, prices)
    exact = sums.prompt.exact and sums.prefill.exact and sums.output.exact
    return Amount(None) if total is None else Amount(round(total), exact)
