"""The tables of a replay, with costs in percent of that of `none`, and a description of the runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import accumulate
from math import inf
from operator import itemgetter
from statistics import quantiles

from thimble.commands.replay import AS_RECORDED
from thimble.lab.experiment import RAW_AGENT, Row, Rows, group_rows
from thimble.lab.findings import ResultTable
from thimble.tools.wording import count_noun, join_names

CLASSES = {"<20": 19, "20–40": 39, "40–80": 80, ">80": inf}
"""Classes of runs, by the maximum turns (assistant messages) of each."""
SPREAD_COLUMNS = ("lower quartile", "median run", "upper quartile", "worst run")
MEDIAN = SPREAD_COLUMNS.index("median run")
AMOUNT_COLUMNS = {
    "prompt": "prompt_tokens",
    "prefill": "prefill_tokens",
    "over": "over_budget",
    "edits": "edits",
    "side calls": "side_calls",
}
MAX_NAMED = 5
"""The most refused runs that are named."""
NEAR = 0.9
"""The share of calls that must be close for the estimates to be reliable."""
FAULT_COLUMNS = ("lost", "repeats")
FAULTS = (
    "Lost: the lines and names from earlier results that the next actions quote and that are not in view, in percent. "
    "Repeats: calls per hundred that request a result again because it is not whole in view."
)


def add_changes(rows: Rows) -> list[Row]:
    """The rows with the `change` of the cost against `none`, in percent, or None if nothing was sent."""
    place = itemgetter("run", "budget", "lag", "cached_price")
    raw = {place(row): row["cost"] for row in rows if row["strategy"] == RAW_AGENT}
    return [row | {"change": percent_change(row["cost"], raw[place(row)])} for row in rows]


def changes(rows: Rows) -> dict[str, list[float]]:
    """The changes of all runs in ascending order, at the last price, for each strategy."""
    last = [row for row in comparable_rows(rows) if row["cached_price"] == rows[-1]["cached_price"]]
    return {
        spec: sorted(row["change"] for row in found if row["change"] is not None)
        for (spec,), found in group_rows(last, "strategy").items()
    }


def percent_change(cost: float, raw: float) -> float | None:
    """The extra cost against `none`, in percent; None if nothing was sent."""
    return 100 * (cost / raw - 1) if raw else None


def comparable_rows(rows: Rows) -> list[Row]:
    """The rows of the runs whose calls all fit under every strategy, at the same budget and lag."""
    place = itemgetter("run", "budget", "lag")
    refused = {place(row) for row in rows if row["refused"]}
    return [row for row in rows if place(row) not in refused]


def turn_class(turns: int) -> str:
    """The class of a run with this many turns."""
    return next(name for name, most in CLASSES.items() if turns <= most)


def describe_calibration(rows: Rows) -> Iterator[str]:
    """A sentence on how close our counts of the recorded prompts are to the provider's; nothing without a log."""
    own = [row for row in rows if row["strategy"] == AS_RECORDED and row["cached_price"] == rows[0]["cached_price"]]
    if own:
        calls, close, missing = (
            int(_total(own, name)) for name in ("reported_calls", "close_calls", "summaries_missing")
        )
        near = f"{close:,} of {count_noun(calls, 'call')}"
        told = f"Prompt and cached tokens within 2 % of what the provider measured: {near}."
        far = ", and far off for the other calls: do not trust small differences" * (close < NEAR * calls)
        yield f"{told if calls else 'The provider measured no call.'} All figures below are estimates{far}."
        if missing:
            yield f"as-recorded lacks {count_noun(missing, 'call')} that wrote a summary: the file does not have them."


def make_tables(rows: Rows, specs: Sequence[str]) -> Iterator[ResultTable]:
    """The tables of these strategies. A cell has a number for each price; an amount that is always equal, only one."""
    prices = [*dict.fromkeys(row["cached_price"] for row in rows)]
    found, specs = group_rows(comparable_rows(rows), "strategy", "cached_price"), [*dict.fromkeys(specs)]

    def each(spec: str, of: str = "") -> list[list[Row]]:
        """The rows of a strategy at each price: all, or only those of the class `of`."""
        at_prices = (found.get((spec, price), []) for price in prices)
        return [[row for row in every if of in ("", turn_class(row["turns"]))] for every in at_prices]

    raw = each(RAW_AGENT)
    sums = []
    for spec in specs:
        pairs = zip(each(spec), raw, strict=True)
        costs = [percent_change(_total(ours, "cost"), _total(theirs, "cost")) for ours, theirs in pairs]
        amounts = [[_format_short(_total(ours, name)) for ours in each(spec)] for name in AMOUNT_COLUMNS.values()]
        lost, repeats = zip(*map(fault_cells, each(spec)), strict=True)
        cells = [" ".join(one if len({*one}) > 1 else one[:1]) for one in (*amounts, lost, repeats)]
        sums.append([spec, " ".join(map(_format_percent, costs)), *cells])
    columns = ["strategy", "all tokens", *AMOUNT_COLUMNS, *FAULT_COLUMNS]
    yield ResultTable("All tokens together", columns, sums, FAULTS)
    if len(raw[0]) > 1:
        spreads = [[spec, *_spread_cells(each(spec))] for spec in specs]
        yield ResultTable("Run by run", ["strategy", *SPREAD_COLUMNS], spreads)
    classes = {name: count_noun(len(runs), "run") for name in CLASSES if (runs := each(RAW_AGENT, name)[0])}
    if len(classes) > 1:
        medians = [[spec, *(_spread_cells(each(spec, name))[MEDIAN] for name in classes)] for spec in specs]
        names = [f"{name} turns, {runs}" for name, runs in classes.items()]
        yield ResultTable("The median run by the length of the runs", ["strategy", *names], medians)
    told = "The similarity of the next action on each view to the recorded one, from 0 to 1 (CoMem, Eq. 9)."
    agreed = [
        [spec, f"{sum(row['agreement'] * row['acted'] for row in acted) / _total(acted, 'acted'):.3f}"]
        for spec in specs
        if (acted := [row for row in each(spec)[0] if row["acted"]])
    ]
    yield ResultTable("Agreement of the next action", ["strategy", "agreement"], agreed, told)


def fault_cells(rows: Rows) -> list[str]:
    """The quotes that are lost, in percent, and the repeats per hundred calls; – if there are no quotes or calls."""
    pairs = [
        (_total(rows, "quoted_lost"), _total(rows, "quoted"), 0),
        (_total(rows, "repeats"), _total(rows, "calls"), 1),
    ]
    return [f"{100 * count / of:.{places}f}" if of else "–" for count, of, places in pairs]


def cost_and_loss(rows: Rows) -> dict[str, tuple[float, float]]:
    """By strategy the share of what is quoted that is lost, and the change of the cost, at the last price, in percent.

    Empty if nothing is quoted.
    """
    found = group_rows(
        [row for row in comparable_rows(rows) if row["cached_price"] == rows[-1]["cached_price"]], "strategy"
    )
    raw = found.get((RAW_AGENT,), [])
    quoted, cost = _total(raw, "quoted"), _total(raw, "cost")
    if not (quoted and cost):
        return {}
    return {
        spec: (100 * _total(of, "quoted_lost") / quoted, 100 * (_total(of, "cost") / cost - 1))
        for (spec,), of in found.items()
        if spec != RAW_AGENT
    }


def _total(rows: Rows, name: str) -> float:
    total: float = sum(row[name] for row in rows)
    return total


def _spread_cells(each: Sequence[Rows]) -> list[str]:
    """The cells of `SPREAD_COLUMNS`: changes of the cost over runs, with a number for each price."""
    spreads = []
    for rows in each:
        changes = [row["change"] for row in rows if row["change"] is not None]
        middle = quantiles(changes, method="inclusive") if len(changes) > 1 else (changes or [None]) * 3
        spreads.append([*middle, max(changes, default=None)])
    return [" ".join(map(_format_percent, column)) for column in zip(*spreads, strict=True)]


def _format_percent(value: float | None) -> str:
    """A difference in whole percent, with its sign."""
    if value is None:
        return "–"
    return f"{value:+.0f}".replace("-", "−") if round(value) else "0"


def _format_short(amount: float) -> str:
    """The amount in thousands or millions, if it is that large."""
    if amount < 10_000:
        return f"{amount:,}"
    return f"{amount / 1e6:,.1f}M" if amount >= 999_500 else f"{amount / 1e3:,.0f}k"


def describe_runs(rows: Rows) -> str:
    """Describe the replayed runs: number, size, inequality, repairs, and those that were refused."""
    every = [row for row in rows if (row["strategy"], row["cached_price"]) == (RAW_AGENT, rows[0]["cached_price"])]
    names = {row["run"] for row in comparable_rows(rows)}
    raw = [row for row in every if row["run"] in names]
    budget = "no budget"
    if every[0]["budget"] is not None:
        passing = sum(row["over_budget"] > 0 for row in raw)
        budget = f"budget {every[0]['budget']:,} ({count_noun(passing, 'run')} over it)"
    prompt, history = _total(raw, "prompt_tokens"), _total(raw, "history_tokens")
    cached = 1 - _total(raw, "prefill_tokens") / prompt if prompt else 0
    observed = _total(raw, "observation_tokens") / history if history else 0
    told = (
        f"{count_noun(len(raw), 'run')}, {count_noun(int(_total(raw, 'calls')), 'call')}, {budget}. "
        "Sending everything: "
        f"{prompt:,} prompt tokens, {cached:.1%} of them cached{_largest_share(raw)}; {observed:.0%} of the history is "
        f"observations, of which the next actions quote {int(_total(raw, 'quoted')):,} lines and names."
    )
    if repairs := int(_total(every, "repairs")):
        mended, lost = (int(_total(every, f"characters_{name}")) for name in ("mended", "left_out"))
        changed = f"{count_noun(repairs, 'repair')} changed {count_noun(mended, 'character')}"
        told += f" {changed}, and left out {lost:,} of them."
    if refused := [row for row in every if row["run"] not in names]:
        named = join_names([row["run"] for row in refused], MAX_NAMED)
        calls = count_noun(int(_total(refused, "refused")), "call")
        runs = count_noun(len(refused), "run")
        told += f" Not counted: {runs} with {calls} whose smallest view is over the budget ({named})."
    return told


def _largest_share(raw: Rows) -> str:
    """A clause on how few runs have half of the tokens; "" for a single run."""
    sizes = sorted((row["prompt_tokens"] for row in raw), reverse=True)
    if len(sizes) < 2:
        return ""
    half = next(number for number, size in enumerate(accumulate(sizes), 1) if 2 * size >= sum(sizes))
    return f", half of them in {'one run' if half == 1 else f'{half:,} runs'}"
