"""A replay as a report: the cost of each strategy against sending everything, by price and length of the runs."""

from __future__ import annotations

from collections.abc import Sequence

from lab.page import Report
from lab.replay.cost_tables import LOWER, MEDIAN, UPPER, against, headline, over_runs, runs_of
from lab.replay.rows import Row

UNIT = "change of the cost against none, percent"


def page(rows: Sequence[Row], raw: Row, command: str) -> Report:
    """The page of these rows; `raw` is the row that they are compared with."""
    report = Report("What recorded runs would have cost under each strategy", command, headline(raw))
    report.text(
        "Cost is prefill + c · cached tokens of all calls, and 4 (or the price given) for each token that a strategy's "
        "model writes. Below 0 a strategy is cheaper than sending everything."
    )
    names = [row["strategy"] for row in rows]
    over = {f"cached {float(price):g}": place for place, price in enumerate(raw["cost"])}
    spread = {name: [[over_runs(row, at)[place] for row in rows] for at in (LOWER, MEDIAN, UPPER)]
              for name, place in over.items()}  # fmt: skip
    report.bars(
        "The median run",
        ("strategy", names),
        {name: median for name, (_, median, _) in spread.items()},
        {name: list(zip(lower, upper, strict=True)) for name, (lower, _, upper) in spread.items()},
        unit=UNIT,
        caption="At each price of a cached token; the whisker goes from quartile to quartile.",
    )
    classes = [name for name, entry in raw["by_turns"].items() if entry["runs"]]
    for name, place in over.items() if len(classes) > 1 else ():
        report.heat(
            f"The median run by its length, {name}",
            ("strategy", names),
            ("length", [runs_of(one, raw) for one in classes]),
            [[over_runs(row["by_turns"][one], MEDIAN)[place] for one in classes] for row in rows],
            unit=UNIT,
        )
    report.table("All tokens together", [_totals(row, raw) for row in rows])
    return report


def _totals(row: Row, raw: Row) -> Row:
    costs = {f"cost % at {float(price):g}": against(row, raw, price) for price in raw["cost"]}
    names = ("prompt_tokens", "prefill_tokens", "over_budget", "edits", "side_calls", "side_tokens")
    return {"strategy": row["strategy"]} | costs | {name: row[name] for name in names}
