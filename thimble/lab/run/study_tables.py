"""A study for people: its tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from itertools import groupby

from thimble.lab.experiment import RAW_AGENT
from thimble.lab.findings import Findings, ResultTable
from thimble.lab.run.analysis import (
    TENTHS,
    Group,
    StudySetting,
    Tally,
    by_kind,
    groups,
    outcomes,
    places,
)
from thimble.lab.run.study_rows import StudyRow, made_by
from thimble.lab.statistics import wilson
from thimble.lab.table.command import difference_table
from thimble.lab.table.outcomes import differences
from thimble.session.figures import several

PAIRED = (
    "A question is one instance: the mean of its exchanges and seeds. In brackets: 95 % intervals of a paired "
    "bootstrap over the questions. Holm: p, corrected for the number of tests in the table."
)


def findings(rows: Sequence[StudyRow], baseline: str = RAW_AGENT) -> Findings:
    """What is shown of these rows; differences are from `baseline`. A record is an answer."""
    names = ("model", "strategy", "budget", "seed", "question", "kind")
    records = [
        {name: getattr(row, name) for name in names} | {"exchange": number} | asdict(replace(answer, actions=()))
        for row in rows
        for number, answer in enumerate(row.answers, 1)
    ]
    return Findings("A study of strategies", list(told(rows)), tables(rows, baseline), records)


def tables(rows: Sequence[StudyRow], baseline: str = RAW_AGENT) -> list[ResultTable]:
    """All tables of these rows, model by model. Tables with nothing in them are left out."""
    found, where = groups(rows), places(rows)
    made = []
    for model, mine in groupby(found, lambda group: group.setting.model):
        of_model = [*mine]
        made += [
            _answers(model, of_model),
            _kinds(model, rows),
            _places(model, {budget: tallies for (name, budget), tallies in where.items() if name == model}),
            *(
                difference_table(f"Differences from {baseline}: {name} @{budget:,}", differences(of, baseline), PAIRED)
                for (name, budget), of in outcomes(rows).items()
                if name == model and baseline in of
            ),
        ]
    return [table for table in made if table.rows]


def told(rows: Sequence[StudyRow]) -> Iterator[str]:
    """What the rows hold, in a line or two: how many there are, what failed, and what other code made."""
    failed = [row for row in rows if row.error]
    yield f"{several(len(rows), 'finished job')}, {len(failed):,} of them failed, code {made_by()}."
    if failed:
        yield f"The first failure: {failed[0].question} under {failed[0].strategy}: {failed[0].error}."
    others = {row.made_by for row in rows} - {made_by()}
    if others:
        count = sum(row.made_by in others for row in rows)
        yield f"{count:,} of them are of other code or articles ({', '.join(sorted(others))}): do not compare them."


def wrong_answers(rows: Sequence[StudyRow]) -> ResultTable:
    """Every wrong answer, and the reason."""
    wrong = [
        (f"{row.strategy} @{row.budget:,}", f"{row.question}.{number}", answer.why, " ".join(answer.text.split()))
        for row in rows
        for number, answer in enumerate(row.answers, 1)
        if answer.right is False
    ]
    return ResultTable("Wrong answers", ("strategy", "question", "why", "answer"), wrong, texts=4)


def _named(setting: StudySetting) -> str:
    return f"{setting.strategy} @{setting.budget:,}"


def share(right: int, of: int) -> str:
    """A share with its 95 % interval: `75 % (30 to 95)`; "" of nothing."""
    if not of:
        return ""
    low, high = wilson(right, of)
    return f"{right / of:.0%} ({low:.0%} to {high:.0%})".replace("%", " %", 1).replace("%)", ")").replace("% to", " to")


def _percent(value: float | None, sign: str = "") -> str:
    return "" if value is None else f"{100 * value:{sign}.1f} %"


def _tokens(value: float | None) -> str:
    return "?" if value is None else f"{value:,.0f}"


def _answers(model: str, found: Sequence[Group]) -> ResultTable:
    return ResultTable(
        f"Answers and cost: {model}",
        told="right: with the 95 % interval by Wilson, too narrow for the exchanges of a dialogue, which depend on "
        "each other. no room: the budget could not hold the question, a wrong answer. over: calls over the budget. "
        "cost and prefill: tokens of an exchange with the strategy's own calls. longer: turns against none in the same "
        "ones (The Complexity Trap, Figure 4). side: the share of the strategy's calls in the cost (Table 2 there). "
        "agrees: the next action against that of none, while both have the same history (CoMem, Eq. 9).",
        columns=(
            "strategy",
            "jobs",
            "failed",
            "answers",
            "right, %",
            "no room",
            "over",
            "cost",
            "prefill",
            "turns",
            "longer",
            "side",
            "agrees",
        ),
        rows=[
            (
                _named(one.setting),
                f"{one.jobs:,}",
                f"{one.failed:,}",
                f"{one.scored:,}",
                share(one.right, one.scored),
                f"{one.no_room:,}",
                _tokens(one.over),
                _tokens(one.cost),
                _tokens(one.prefill),
                f"{one.turns:.2f}",
                _percent(one.elongation, "+"),
                "?" if one.side_share is None else _percent(one.side_share),
                "" if one.agreement is None else f"{one.agreement:.2f}",
            )
            for one in found
        ],
    )


def _kinds(model: str, rows: Sequence[StudyRow]) -> ResultTable:
    found = {setting: kinds for setting, kinds in by_kind(rows).items() if setting.model == model}
    names = sorted({kind for kinds in found.values() for kind in kinds})
    return ResultTable(
        f"Right answers by kind of question, %: {model}",
        ("strategy", *names),
        [(_named(setting), *(_tally(kinds.get(name, Tally())) for name in names)) for setting, kinds in found.items()],
    )


def _places(model: str, found: dict[int, list[Tally]]) -> ResultTable:
    names = [f"{at + 1}. tenth" for at in range(TENTHS)] + ["not there"]
    return ResultTable(
        f"Where the needed passage stood in the prompt of the answer: {model}",
        told="Right answers of all strategies together, where the question needs exactly one fact, by the place of a "
        "passage that proves it, word for word. The first tenth is the start of the prompt. A question counts once "
        "under each strategy, so the intervals are too narrow.",
        columns=("place", *(f"@{budget:,}" for budget in found)),
        rows=[
            (name, *(_tally(tallies[at]) for tallies in found.values()))
            for at, name in enumerate(names)
            if any(tallies[at].of for tallies in found.values())
        ],
    )


def _tally(tally: Tally) -> str:
    return f"{share(tally.right, tally.of)} of {tally.of:,}" if tally.of else ""
