"""A study as a report: right answers, costs, places of facts and differences, with their figures and exact numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby

from lab.page import Report
from lab.report.cells import Value
from lab.run.analysis import TENTHS, Difference, Group, Setting, Tally, differences, groups, places
from lab.run.tables import told
from lab.statistics import wilson
from lab.store import Row

PERCENT = "right answers, percent"


def page(rows: Sequence[Row], baseline: str, command: str) -> Report:
    """The page of these rows; differences are from `baseline`."""
    report = Report("A study of strategies", command, " ".join(told(rows)))
    found = groups(rows)
    for model, of_model in groupby(found, lambda group: group.setting.model):
        _bars(report, model, [*of_model])
    for model, where in groupby(places(rows).items(), lambda entry: entry[0][0]):
        _places(report, model, {budget: tallies for (_, budget), tallies in where})
    report.table("All figures", [_flat(group) for group in found], caption="Costs and tokens are means of an exchange.")
    against = [_flat(one) for one in differences(rows, baseline)]
    if against:
        report.table(f"Differences from {baseline}", against, caption="Paired by question; p is corrected (Holm).")
    return report


def _bars(report: Report, model: str, found: Sequence[Group]) -> None:
    specs = [*dict.fromkeys(group.setting.strategy for group in found)]
    by_setting = {group.setting: group for group in found}
    rows = {
        f"{budget:,} tokens": [by_setting.get(Setting(model, budget, spec)) for spec in specs]
        for budget in dict.fromkeys(group.setting.budget for group in found)
    }

    def series(figure: Callable[[Group], Value]) -> dict[str, list[Value]]:
        return {name: [figure(group) if group else None for group in row] for name, row in rows.items()}

    report.bars(
        f"Right answers: {model}",
        ("strategy", specs),
        series(lambda group: _percent(group.right, group.scored)),
        {name: [_ends(group.right, group.scored) if group else None for group in row] for name, row in rows.items()},
        unit=PERCENT,
        caption="The whisker is the 95 % interval by Wilson.",
    )
    report.bars(
        f"Cost of an exchange: {model}",
        ("strategy", specs),
        series(lambda group: group.cost),
        unit="computed prompt tokens",
        caption="By the price card, the strategy's own calls included.",
    )


def _places(report: Report, model: str, found: Mapping[int, Sequence[Tally]]) -> None:
    report.lines(
        f"Where the needed passage stood in the prompt: {model}",
        ("tenth of the prompt", [at + 1 for at in range(TENTHS)]),
        {
            f"{budget:,} tokens": [_percent(one.right, one.of) for one in tallies[:TENTHS]]
            for budget, tallies in found.items()
        },
        {
            f"{budget:,} tokens": [_ends(one.right, one.of) for one in tallies[:TENTHS]]
            for budget, tallies in found.items()
        },
        unit=PERCENT,
        caption="Answers that need exactly one fact, all strategies together; the band is the 95 % interval by Wilson, "
        "too narrow, since a question counts once under each strategy. "
        + ". ".join(f"At {budget:,} tokens it was not there {one[TENTHS].of:,} times" for budget, one in found.items())
        + ".",
    )


def _percent(right: int, of: int) -> float | None:
    return 100 * right / of if of else None


def _ends(right: int, of: int) -> tuple[float, float] | None:
    low, high = wilson(right, of)
    return (100 * low, 100 * high) if of else None


def _flat(record: Group | Difference) -> dict[str, Value]:
    """The numbers of a record, those of its parts beside them."""
    found: dict[str, Value] = {}
    for name, value in asdict(record).items():
        if isinstance(value, dict):
            found |= {part if name == "setting" else f"{name} {part}": each for part, each in value.items()}
        else:
            found[name] = value
    return found
