"""The costs of a replay for people: tables, and one in Markdown. Cost is in percent of that of `none`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from thimble.lab.findings import Findings, ResultTable
from thimble.lab.replay.costs import CostRow, table
from thimble.session.figures import several

MEDIAN = 2
SPREAD_COLUMNS = {"lower quartile": 1, "median run": MEDIAN, "upper quartile": 3, "worst run": 4}
"""Places in a spread."""
AMOUNT_COLUMNS = {
    "prompt": "prompt_tokens",
    "prefill": "prefill_tokens",
    "over": "over_budget",
    "edits": "edits",
    "side calls": "side_calls",
}


def findings(rows: Sequence[CostRow], raw: CostRow) -> Findings:
    """What is shown of these rows; `raw` is the row that they are compared with."""
    classes = [name for name, entry in raw["by_turns"].items() if entry["runs"]]
    every = list(rows) if raw in rows else [raw, *rows]
    shown = [_cells(row, raw, classes, bold=False) for row in rows]
    tables = [_table("All tokens together", shown, ["all tokens", *AMOUNT_COLUMNS])]
    if raw["runs"] > 1:
        tables.append(_table("Run by run", shown, list(SPREAD_COLUMNS)))
    if len(classes) > 1:
        tables.append(_table("The median run by the length of the runs", shown, [runs_of(one, raw) for one in classes]))
    agreed = [[row["strategy"], f"{row['agreement']:.3f}"] for row in rows if "agreement" in row]
    told = "How alike the next action on each view is to the recorded one, from 0 to 1 (CoMem, Eq. 9)."
    agreement = [ResultTable("Agreement of the next action", ["strategy", "agreement"], agreed, told)] if agreed else []
    wide = [_cells(row, raw, classes, bold=True) for row in rows]
    return Findings(
        "What recorded runs would have cost under each strategy",
        [headline(raw), f"Cost against sending everything, in percent, where a cached token costs {_prices(raw)}."],
        tables + agreement,
        every,
        list(table(every)),
        markdown=[_table("", wide, list(wide[0])[1:]), *agreement],
    )


def _table(title: str, cells: Sequence[Mapping[str, str]], columns: Sequence[str]) -> ResultTable:
    names = ["strategy", *columns]
    return ResultTable(title, names, [[row[name] for name in names] for row in cells])


def _cells(row: CostRow, raw: CostRow, classes: Sequence[str], *, bold: bool) -> dict[str, str]:
    """Every cell of a row by the name of its column, with a number for each price; dearer ones may be bold."""
    costs = {runs_of(name, raw): over_runs(row["by_turns"][name], MEDIAN) for name in classes}
    costs |= {name: over_runs(row, place) for name, place in SPREAD_COLUMNS.items()}
    costs["all tokens"] = [against(row, raw, price) for price in raw["cost"]]
    at_prices = list(row.get("by_price", {"": row}).values())
    return (
        {"strategy": row["strategy"]}
        | {name: " ".join(_percent(value, bold) for value in values) for name, values in costs.items()}
        | {name: " ".join(_short(one[key]) for one in at_prices) for name, key in AMOUNT_COLUMNS.items()}
    )


def against(entry: Mapping[str, Any], raw: Mapping[str, Any], price: str) -> float | None:
    """The extra cost against `none` at a price, in percent; None if nothing was sent."""
    cost: float = raw["cost"][price]
    return 100 * (entry["cost"][price] / cost - 1) if cost else None


def over_runs(entry: CostRow, place: int) -> list[float | None]:
    """One of the five percentages of the spread over the runs, at each price; None if there is no run."""
    return [spread and spread[place] for spread in entry["spread"].values()]


def _percent(value: float | None, bold: bool) -> str:
    """A difference in whole percent, with its sign."""
    if value is None:
        return "–"
    text = f"{value:+.0f}".replace("-", "−") if round(value) else "0"
    return f"**{text}**" if bold and round(value) > 0 else text


def _short(amount: int) -> str:
    """The amount in thousands or millions, if it is that large."""
    if amount < 10_000:
        return f"{amount:,}"
    return f"{amount / 1e6:,.1f}M" if amount >= 999_500 else f"{amount / 1e3:,.0f}k"


def runs_of(name: str, raw: CostRow) -> str:
    """A class of runs in words."""
    return f"{name.replace('-', '–')} turns, {several(raw['by_turns'][name]['runs'], 'run')}"


def _prices(raw: CostRow) -> str:
    return ", ".join(f"{float(price):.4g}" for price in raw["cost"])


def headline(raw: CostRow) -> str:
    """The replayed runs in words: how many, how large, how unequal, and which were refused."""
    passing = sum(one["over_budget"] > 0 for one in raw["by_run"] if not one["refused"])
    budget = "no budget" if raw["budget"] is None else f"budget {raw['budget']:,} ({several(passing, 'run')} over it)"
    cached = 1 - raw["prefill_tokens"] / raw["prompt_tokens"] if raw["prompt_tokens"] else 0
    told = (
        f"{several(raw['runs'], 'run')}, {several(raw['calls'], 'call')}, {budget}. Sending everything: "
        f"{raw['prompt_tokens']:,} prompt tokens, {cached:.1%} of them cached{_largest(raw)}; "
        f"{raw.get('observation_share', 0):.0%} of the history is observations."
    )
    return f"{told}{_repaired(raw)}{_refused(raw)}"


def _repaired(raw: CostRow) -> str:
    """What was repaired in the runs, and how much text of them it touched."""
    keys = "repairs", "characters_mended", "characters_left_out"
    repairs, mended, left_out = (sum(one[key] for one in raw["by_run"]) for key in keys)
    if not repairs:
        return ""
    return f" {several(repairs, 'repair')} mended {several(mended, 'character')}, and left out {left_out:,} of them."


def _largest(raw: CostRow) -> str:
    """The runs that hold half of the tokens, where there are several."""
    sizes = sorted((one["prompt_tokens"] for one in raw["by_run"] if not one["refused"]), reverse=True)
    if len(sizes) < 2:
        return ""
    half = next(number for number, size in enumerate(accumulate(sizes), 1) if 2 * size >= sum(sizes))
    return f", half of them in {'one run' if half == 1 else f'{half:,} runs'}"


def _refused(raw: CostRow) -> str:
    """The runs with a call that cannot be sent, the first five by name."""
    names = [one["run"] for one in raw["by_run"] if one["refused"]]
    if not names:
        return ""
    named = ", ".join([*names[:5], *["…"][: len(names) - 5]])
    calls = several(raw["refused_runs"]["refused"], "call")
    return f" Not counted: {several(len(names), 'run')} with {calls} whose least view is over the budget ({named})."
