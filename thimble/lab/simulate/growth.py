"""What a simulation found, for people: the growth of each prompt in blocks, and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from thimble.agent.budget import Prices
from thimble.lab.findings import Findings, ResultTable
from thimble.lab.simulate.simulated import Simulated, records
from thimble.session import figures

COLUMN_BLOCKS = " ▁▂▃▄▅▆▇█"


def findings(found: Sequence[Simulated], prices: Sequence[Prices], headline: str) -> Findings:
    """What is shown: each prompt in blocks on a scale of its own, its tokens, sums, and where the costs cross."""
    told = [headline]
    for one in found:
        told += ["", f"{one.strategy}: {_range(one)}", *blocks([turn.prompt for turn in one.turns])]
    return Findings(
        "A run of equal turns under each strategy",
        told,
        list(_tables(found, prices)),
        list(records(found, prices)),
    )


def _tables(found: Sequence[Simulated], prices: Sequence[Prices]) -> Iterator[ResultTable]:
    last, costs = len(found[0].turns), [f"@{price.cached:g}" for price in prices]
    at = [number for number in (10, 50, 100, 250) if number < last] + [last]
    sizes = [[one.strategy, *(figures.tokens(one.turns[number - 1].prompt) for number in at)] for one in found]
    yield ResultTable("Prompt tokens at a turn", ["strategy", *(f"{number:,}" for number in at)], sizes)
    sums = [
        [
            one.strategy,
            figures.short(one.prompt),
            figures.short(one.prefill),
            "?" if one.cached is None else f"{one.cached:.1%}",
            f"{one.side_calls}",
            *(figures.short(round(cost)) for cost in one.turns[-1].costs),
        ]
        for one in found
    ]
    yield ResultTable("All turns", ["strategy", "prompt", "prefill", "cached", "side", *costs], sums)
    crossed = [[f"{name} than {other}", *(f"{turn or '–'}" for turn in turns)] for name, other, turns in cheaper(found)]
    if crossed:
        yield ResultTable("All calls so far cost less from a turn on", ["strategy", *costs], crossed)


def blocks(values: Sequence[int | None]) -> list[str]:
    """The values as columns of blocks, from 0; a column shows the most of its turns, so that no tooth is lost."""
    columns = min(76, len(values))
    cuts = [len(values) * column // columns for column in range(columns + 1)]
    tops = [max((value or 0 for value in values[a:b]), default=0) for a, b in pairwise(cuts)]
    heights = [round(8 * 3 * top / max(1, *tops)) for top in tops]
    rows = range(3 - 1, -1, -1)
    return ["".join(COLUMN_BLOCKS[min(8, max(0, height - 8 * row))] for height in heights) for row in rows]


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
