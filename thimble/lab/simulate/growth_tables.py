"""The growth of prompts for people: each prompt in blocks, and tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from thimble.lab.experiment import Rows, by
from thimble.lab.findings import ResultTable
from thimble.session import figures

COLUMN_BLOCKS = " ▁▂▃▄▅▆▇█"


def charts(rows: Rows) -> Iterator[str]:
    """The prompts of each strategy in blocks."""
    for (strategy,), turns in by(rows, "strategy").items():
        yield from ("", f"{strategy}: {_range(turns)}", *blocks([turn["prompt_tokens"] for turn in turns]))


def prompt_sizes(rows: Rows) -> ResultTable:
    """The tokens of some prompts."""
    found = by(rows, "strategy")
    last = max(row["turn"] for row in rows)
    at = [number for number in (10, 50, 100, 250) if number < last] + [last]
    sizes = [
        [strategy, *(figures.tokens(turns[number - 1]["prompt_tokens"]) for number in at)]
        for (strategy,), turns in found.items()
    ]
    return ResultTable("Prompt tokens at a turn", ["strategy", *(f"{number:,}" for number in at)], sizes)


def sums(rows: Rows) -> ResultTable:
    """The tokens and costs of all turns."""
    costs = _costs(rows)

    def cells(strategy: str, turns: Rows) -> list[str]:
        prompt, prefill = (sum(turn[name] or 0 for turn in turns) for name in ("prompt_tokens", "prefill_tokens"))
        return [
            strategy,
            figures.short(prompt),
            figures.short(prefill),
            f"{1 - prefill / prompt:.1%}" if prompt else "?",
            f"{sum(turn['side_calls'] for turn in turns)}",
            *(figures.short(round(turns[-1][name])) for name in costs),
        ]

    columns = ["strategy", "prompt", "prefill", "cached", "side", *costs.values()]
    return ResultTable(
        "All turns", columns, [cells(strategy, turns) for (strategy,), turns in by(rows, "strategy").items()]
    )


def crossings(rows: Rows) -> ResultTable:
    """Pairs of strategies, and at each price the turn from which on all calls of the first have cost less."""
    costs, found = _costs(rows), by(rows, "strategy")
    crossed = []
    for (one,), ours in found.items():
        for (other,), theirs in found.items():
            turns = [_from([a[name] < b[name] for a, b in zip(ours, theirs, strict=True)]) for name in costs]
            if any(turns):
                crossed.append([f"{one} than {other}", *(f"{turn or '–'}" for turn in turns)])
    return ResultTable("All calls so far cost less from a turn on", ["strategy", *costs.values()], crossed)


def _costs(rows: Rows) -> dict[str, str]:
    """The columns of costs, and what they are called."""
    return {name: f"@{float(name[5:]):g}" for name in rows[0] if name.startswith("cost_")}


def blocks(values: Sequence[int | None]) -> list[str]:
    """The values as columns of blocks, from 0; a column shows the most of its turns, so that no tooth is lost."""
    columns = min(76, len(values))
    cuts = [len(values) * column // columns for column in range(columns + 1)]
    tops = [max((value or 0 for value in values[a:b]), default=0) for a, b in pairwise(cuts)]
    heights = [round(8 * 3 * top / max(1, *tops)) for top in tops]
    rows = range(3 - 1, -1, -1)
    return ["".join(COLUMN_BLOCKS[min(8, max(0, height - 8 * row))] for height in heights) for row in rows]


def _from(holds: Sequence[bool]) -> int | None:
    """The turn from which on it holds to the end."""
    last = next((number for number in range(len(holds), 0, -1) if not holds[number - 1]), 0)
    return last + 1 if last < len(holds) else None


def _range(turns: Rows) -> str:
    sent = [(turn["prompt_tokens"], turn["turn"]) for turn in turns if turn["prompt_tokens"] is not None]
    if not sent:
        return "no prompt fits the budget"
    most, turn = max(sent, key=lambda one: one[0])
    told = f"at most {most:,} tokens, first at turn {turn:,}"
    falls = [(before, after, at) for (before, _), (after, at) in pairwise(sent) if after < before]
    if len(falls) < 2:
        return told
    (_, _, first), (high, low, last) = falls[-2:]
    return f"{told}; at turn {last} it falls from {high:,} to {low:,}, {last - first} turns after the fall before"
