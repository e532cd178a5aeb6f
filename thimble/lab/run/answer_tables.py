"""The tables of a study: right answers, costs, turns, the places of facts, and paired differences."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from statistics import mean

from thimble.lab.action_similarity import Action, next_actions_alike
from thimble.lab.experiment import RAW_AGENT, Row, Rows, group_rows
from thimble.lab.findings import ResultTable
from thimble.lab.run.ask import NO_ROOM
from thimble.lab.statistics import wilson_interval
from thimble.lab.table.outcomes import difference_table, differences

INSTANCE = ("digest", "seed")
"""The columns that pair strategies: the question and the seed."""
JOB = ("model", "budget", "strategy", *INSTANCE)
"""The columns that all exchanges of a job share."""
PAIRED = (
    "A question is one instance: the mean of its exchanges and seeds. In brackets: 95 % intervals of a paired "
    "bootstrap over the questions. Holm: p, corrected for the number of tests in the table."
)
TENTHS = 10


def answer_tables(rows: Rows, baseline: str) -> Iterator[ResultTable]:
    """All tables, model by model. Failed jobs only count in the first. Differences are from `baseline`."""
    for (model,), mine in group_rows(rows, "model").items():
        yield _answers(model, mine)
        done = answered_rows(mine)
        yield _kinds(model, done)
        yield _places(model, done)
        for (budget,), found in group_rows(done, "budget").items():
            scored = outcome_rows(found)
            if any(one["strategy"] == baseline for one in scored):
                title = f"Differences from {baseline}: {model} @{budget:,}"
                yield difference_table(title, differences(scored, baseline), PAIRED)


def wrong_answers(rows: Rows) -> ResultTable:
    """A table of the wrong answers with their reasons."""
    wrong = [
        (_named(row), f"{row['question']}.{row['exchange']}", row["why"], " ".join(row["text"].split()))
        for row in rows
        if row["right"] is False
    ]
    return ResultTable("Wrong answers", ("strategy", "question", "why", "answer"), wrong, texts=4)


def answered_rows(rows: Rows) -> list[Row]:
    """The rows of jobs that did not fail."""
    return [row for row in rows if not row["error"]]


def summarise_setting(rows: Rows, raw: Rows) -> Row:
    """The figures of one setting; `raw`: the rows of `none`. None: a server did not report enough.

    Failed jobs only count in `jobs` and `failed`. Means are per exchange, costs in computed prompt tokens.
    `elongation`: the extra turns against `none` in the same exchanges, as a share; None if there are none (The
    Complexity Trap, Figure 4). `side_share`: the share of the strategy's own calls in the cost (Table 2 there).
    `agreement`: the mean similarity of the next action to that of `none`, as long as both have the same history, from 0
    to 1 (CoMem, Eq. 9); None if there is no pair.
    """
    jobs, theirs = group_rows(answered_rows(rows), *INSTANCE), group_rows(answered_rows(raw), *INSTANCE)
    done = [*chain(*jobs.values())]
    pairs = [(found, theirs[instance]) for instance, found in jobs.items() if instance in theirs]
    turns, raw_turns = (sum(row["turns"] for pair in pairs for row in pair[at]) for at in (0, 1))
    alike = [one for ours, other in pairs for one in next_actions_alike(_actions(ours), _actions(other))]
    cost, prefill, side = (_total(done, name) for name in ("cost", "prefill", "side_cost"))
    every = len(group_rows(rows, *INSTANCE))
    return {
        "jobs": every,
        "failed": every - len(jobs),
        "no_room": sum(row["ending"] == NO_ROOM for row in done),
        "over": sum(row["over"] for row in done),
        "cost": _ratio(cost, len(done)),
        "prefill": _ratio(prefill, len(done)),
        "turns": mean(row["turns"] for row in done) if done else 0.0,
        "elongation": turns / raw_turns - 1 if raw_turns else None,
        "side_share": _ratio(side, cost),
        "agreement": mean(alike) if alike else None,
    }


def _actions(rows: Rows) -> list[Action]:
    return [Action(*action) for row in rows for action in row["actions"]]


def _total(rows: Rows, name: str) -> float | None:
    known = [row[name] for row in rows if row[name] is not None]
    return sum(known) if len(known) == len(rows) else None


def _ratio(amount: float | None, to: float | None) -> float | None:
    return None if amount is None or not to else amount / to


def outcome_rows(rows: Rows) -> list[Row]:
    """The rows of `thimble lab table`: for each question and strategy, the mean over exchanges and seeds.

    Questions without a scored answer are left out. The cost is None if a server did not report enough.
    """
    made = []
    for (strategy, digest), mine in group_rows(rows, "strategy", "digest").items():
        if right := _rights(mine):
            cost = _ratio(_total(mine, "cost"), len(group_rows(mine, "seed")))
            made.append({"strategy": strategy, "instance": digest, "solved": 100 * mean(right), "cost": cost})
    return made


def _rights(rows: Rows) -> list[bool]:
    """Whether each scored answer is right."""
    return [row["right"] for row in rows if row["right"] is not None]


def tenth_of_prompt(place: float | None) -> int:
    """The tenth of the prompt that a place is in, from 0; TENTHS for None."""
    return TENTHS if place is None else min(TENTHS - 1, int(place * TENTHS))


# --- tables -----------------------------------------------------------------------------------------------------------


def _named(row: Row) -> str:
    return f"{row['strategy']} @{row['budget']:,}"


def _share(right: Sequence[bool]) -> str:
    """A share with its 95 % interval: `75 % (30 to 95)`; "" if there are no answers."""
    if not right:
        return ""
    low, high = (100 * end for end in wilson_interval(sum(right), len(right)))
    return f"{100 * sum(right) / len(right):.0f} % ({low:.0f} to {high:.0f})"


def _share_of(right: Sequence[bool]) -> str:
    return f"{_share(right)} of {len(right):,}" if right else ""


def _percent(value: float | None, sign: str = "") -> str:
    return "" if value is None else f"{100 * value:{sign}.1f} %"


def _tokens(value: float | None) -> str:
    return "?" if value is None else f"{value:,.0f}"


def _answers(model: str, rows: Rows) -> ResultTable:
    found = group_rows(rows, "budget", "strategy")
    cells = []
    for (budget, _), mine in found.items():
        one, right = summarise_setting(mine, found.get((budget, RAW_AGENT), [])), _rights(answered_rows(mine))
        cells.append(
            (
                _named(mine[0]),
                f"{one['jobs']:,}",
                f"{one['failed']:,}",
                f"{len(right):,}",
                _share(right),
                f"{one['no_room']:,}",
                f"{one['over']:,}",
                _tokens(one["cost"]),
                _tokens(one["prefill"]),
                f"{one['turns']:.2f}",
                _percent(one["elongation"], "+"),
                "?" if one["side_share"] is None else _percent(one["side_share"]),
                "" if one["agreement"] is None else f"{one['agreement']:.2f}",
            )
        )
    return ResultTable(
        f"Answers and cost: {model}",
        legend="right: with the 95 % interval by Wilson, too narrow for the exchanges of a dialogue, which depend on "
        "each other. no room: the question did not fit the budget, a wrong answer. over: calls over the budget. "
        "cost and prefill: tokens of an exchange with the strategy's own calls. longer: turns against none in the same "
        "exchanges (The Complexity Trap, Figure 4). side: the share of the strategy's calls in the cost (Table 2 "
        "there). agrees: the next action against that of none, while both have the same history (CoMem, Eq. 9).",
        columns=(
            *("strategy", "jobs", "failed", "answers", "right, %", "no room", "over"),
            *("cost", "prefill", "turns", "longer", "side", "agrees"),
        ),
        rows=cells,
    )


def _kinds(model: str, rows: Rows) -> ResultTable:
    names = sorted({row["kind"] for row in rows})
    cells = []
    for mine in group_rows(rows, "budget", "strategy").values():
        kinds = group_rows(mine, "kind")
        cells.append([_named(mine[0]), *(_share_of(_rights(kinds.get((name,), []))) for name in names)])
    return ResultTable(f"Right answers by kind of question, %: {model}", ("strategy", *names), cells)


def _places(model: str, rows: Rows) -> ResultTable:
    """Right answers by the place of their fact, if they need exactly one; in the last row it was not in the prompt."""
    budgets = group_rows(rows, "budget")
    cells = []
    for at in range(TENTHS + 1):
        found = [
            _rights([row for row in mine if len(row["places"]) == 1 and tenth_of_prompt(row["places"][0]) == at])
            for mine in budgets.values()
        ]
        if any(found):
            cells.append((f"{at + 1}. tenth" if at < TENTHS else "not there", *map(_share_of, found)))
    return ResultTable(
        f"Where the needed passage stood in the prompt of the answer: {model}",
        legend="Right answers of all strategies together to questions that need exactly one fact, by the place of a "
        "passage that proves it, word for word. The first tenth is the start of the prompt. A question counts once "
        "under each strategy, so the intervals are too narrow.",
        columns=("place", *(f"@{budget:,}" for (budget,) in budgets)),
        rows=cells,
    )
