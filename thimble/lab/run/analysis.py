"""What the rows of a store say: right answers, costs, turns, the places of facts, and paired differences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from statistics import mean

from thimble.lab.action_similarity import next_actions_alike
from thimble.lab.experiment import RAW_AGENT
from thimble.lab.run.ask import NO_ROOM, ScoredAnswer
from thimble.lab.run.jobs import CARD
from thimble.lab.run.study_rows import StudyRow
from thimble.lab.table.outcomes import Outcome
from thimble.strategies.spec import parse_spec
from thimble.strategies.table import STRATEGIES

TENTHS = 10
Instance = tuple[str, int | None]
"""A question by its digest, and a seed: what strategies are paired by."""


@dataclass(frozen=True, slots=True)
class StudySetting:
    """Rows that are counted together. `model` names all that is not usual: temperature, side models, price card."""

    model: str
    budget: int
    strategy: str


@dataclass(frozen=True, slots=True)
class Group:
    """The figures of one setting. Means are of an exchange; None where a server has not reported what they need.

    Attributes:
        jobs: Finished jobs.
        failed: Those that failed, which count in no other figure.
        right: Right answers, of the `scored` ones.
        no_room: Exchanges whose question the budget could not hold: wrong answers.
        over: Calls of the agent over the budget; None in a store of an older thimble.
        cost: In computed prompt tokens, by the price card.
        elongation: The turns beyond those of `none` in the same exchanges, as a share; None without `none` (The
            Complexity Trap, Figure 4).
        side_share: The share of the cost that the strategy's own calls have (Table 2 there).
        agreement: The mean similarity of the next action to that of `none`, as long as both have the same history, from
            0 to 1 (CoMem, Eq. 9); None without `none`.
    """

    setting: StudySetting
    jobs: int
    failed: int
    scored: int
    right: int
    no_room: int
    over: float | None
    cost: float | None
    prefill: float | None
    turns: float
    elongation: float | None
    side_share: float | None
    agreement: float | None


@dataclass(frozen=True, slots=True)
class Tally:
    """Right answers of how many."""

    right: int = 0
    of: int = 0

    def with_answer(self, right: bool | None) -> Tally:
        """With one more; one that is not scored (None) does not count."""
        return self if right is None else Tally(self.right + right, self.of + 1)


def setting_of(row: StudyRow) -> StudySetting:
    """The setting of a row."""
    usual = {"temperature": None, "summariser": "", "memory": "", "price": CARD}
    more = (f"{name} {getattr(row, name)}" for name, value in usual.items() if getattr(row, name) != value)
    code = f" ({row.code[:6]})" if row.code else ""
    return StudySetting(", ".join([row.model, *more]), row.budget, row.strategy + code)


def by_setting(rows: Iterable[StudyRow]) -> dict[StudySetting, dict[Instance, StudyRow]]:
    """The rows of each setting, by model, budget and strategy in the order of `STRATEGIES`."""
    found: dict[StudySetting, dict[Instance, StudyRow]] = {}
    for row in rows:
        found.setdefault(setting_of(row), {})[row.digest, row.seed] = row
    return {setting: found[setting] for setting in sorted(found, key=_order)}


def _order(setting: StudySetting) -> tuple[str, int, int, str]:
    names = [*STRATEGIES]
    name = parse_spec(setting.strategy)[0].name
    return setting.model, setting.budget, names.index(name) if name in names else len(names), setting.strategy


def groups(rows: Iterable[StudyRow]) -> list[Group]:
    """The figures of each setting."""
    found = by_setting(rows)
    return [
        _group(setting, mine, found.get(replace(setting, strategy=RAW_AGENT), {})) for setting, mine in found.items()
    ]


def _group(setting: StudySetting, mine: Mapping[Instance, StudyRow], raw: Mapping[Instance, StudyRow]) -> Group:
    done = {instance: row for instance, row in mine.items() if not row.error}
    answers = [*chain.from_iterable(row.answers for row in done.values())]
    cost, side = (_total(getattr(one, name) for one in answers) for name in ("cost", "side_cost"))
    return Group(
        setting,
        len(mine),
        len(mine) - len(done),
        sum(one.right is not None for one in answers),
        sum(one.right is True for one in answers),
        sum(one.ending == NO_ROOM for one in answers),
        _total(one.over for one in answers),
        None if cost is None or not answers else cost / len(answers),
        _mean([one.prefill for one in answers]),
        mean(one.turns for one in answers) if answers else 0.0,
        _elongation(done, raw),
        None if side is None or not cost else side / cost,
        _agreement(done, raw),
    )


def _total(amounts: Iterable[float | None]) -> float | None:
    every = [*amounts]
    known = [amount for amount in every if amount is not None]
    return sum(known) if len(known) == len(every) else None


def _mean(amounts: Sequence[float | None]) -> float | None:
    total = _total(amounts)
    return None if total is None or not amounts else total / len(amounts)


def _pairs(done: Mapping[Instance, StudyRow], raw: Mapping[Instance, StudyRow]) -> list[tuple[StudyRow, StudyRow]]:
    return [(row, raw[instance]) for instance, row in done.items() if instance in raw and not raw[instance].error]


def _agreement(done: Mapping[Instance, StudyRow], raw: Mapping[Instance, StudyRow]) -> float | None:
    runs = [
        [[*chain.from_iterable(answer.actions for answer in row.answers)] for row in pair] for pair in _pairs(done, raw)
    ]
    alike = [one for ours, theirs in runs for one in next_actions_alike(ours, theirs)]
    return mean(alike) if alike else None


def _elongation(done: Mapping[Instance, StudyRow], raw: Mapping[Instance, StudyRow]) -> float | None:
    both = _pairs(done, raw)
    ours, theirs = (sum(answer.turns for pair in both for answer in pair[at].answers) for at in (0, 1))
    return ours / theirs - 1 if theirs else None


def places(rows: Iterable[StudyRow]) -> dict[tuple[str, int], list[Tally]]:
    """Right answers by the tenth of the prompt in which the needed passage stood, for each model and budget.

    The eleventh: it was not in the prompt. Only answers that need exactly one fact count.
    """
    found: dict[tuple[str, int], list[Tally]] = {}
    for setting, mine in by_setting(rows).items():
        tallies = found.setdefault((setting.model, setting.budget), [Tally()] * (TENTHS + 1))
        for answer in chain.from_iterable(row.answers for row in mine.values() if not row.error):
            if len(answer.places) == 1:
                at = tenth(answer.places[0])
                tallies[at] = tallies[at].with_answer(answer.right)
    return found


def by_kind(rows: Iterable[StudyRow]) -> dict[StudySetting, dict[str, Tally]]:
    """Right answers of each setting by the kind of question."""
    found: dict[StudySetting, dict[str, Tally]] = {}
    for setting, mine in by_setting(rows).items():
        kinds = found.setdefault(setting, {})
        for kind, answer in ((row.kind, answer) for row in mine.values() for answer in row.answers):
            kinds[kind] = kinds.get(kind, Tally()).with_answer(answer.right)
    return found


def tenth(place: float | None) -> int:
    """The tenth of a prompt, from 0; TENTHS for none."""
    return TENTHS if place is None else min(TENTHS - 1, int(place * TENTHS))


def outcomes(rows: Iterable[StudyRow]) -> dict[tuple[str, int], dict[str, dict[str, Outcome]]]:
    """For each model and budget: each question under each strategy, the mean of its exchanges and seeds.

    A question without a scored answer is left out. The cost is None where a server has not reported what it needs.
    """
    found: dict[tuple[str, int], dict[str, dict[str, Outcome]]] = {}
    for setting, mine in by_setting(rows).items():
        by_question: dict[str, list[ScoredAnswer]] = {}
        seeds = Counter(digest for (digest, _), row in mine.items() if not row.error)
        for (digest, _), row in mine.items():
            by_question.setdefault(digest, []).extend(() if row.error else row.answers)
        found.setdefault((setting.model, setting.budget), {})[setting.strategy] = {
            digest: Outcome(100 * mean(right), None if cost is None else cost / seeds[digest])
            for digest, answers in by_question.items()
            if (right := [answer.right for answer in answers if answer.right is not None])
            for cost in [_total(answer.cost for answer in answers)]
        }
    return found
