"""What a strategy does on the dialogues: the laws first, then its cost, its faults and the facts that it keeps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean

from thimble.agent.errors import UsageError
from thimble.lab.judge.dialogues import Dialogue
from thimble.lab.replay.recorded_replay import (
    Figures,
    RecordedCall,
    ReplaySetting,
    counter_of,
    decides_by_price,
    figures,
    replay,
)
from thimble.lab.replay.trajectories import Trajectory

WEIGHTS: Mapping[str, int] = {"saved": 30, "facts": 40, "found": 30}
"""The points of each part of the score."""
SHOWN = ("kept", "tidied")
"""The fates of a message that a view shows whole."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Sums over all dialogues. `costs` has one for each price; a computed prompt token costs 1. `calls` had a view.

    `kept` of the `planted` facts are in the last view of their dialogue. `again` counts the calls of a dialogue that
    were made before, `faults` those of them whose earlier result the view of that moment does not show.
    """

    costs: Sequence[float]
    calls: int
    kept: int
    planted: int
    faults: int
    again: int

    def cost(self, everything: Measured) -> list[float]:
        """The cost at each price, as a share of that of sending everything."""
        return [one / of for one, of in zip(self.costs, everything.costs, strict=True)]

    def score(self, everything: Measured) -> float:
        """The points of a contest, at most 100: what is saved, which facts are kept, which results are found again."""
        parts = {
            "saved": 1 - mean(self.cost(everything)),
            "facts": self.kept / self.planted if self.planted else 1,
            "found": 1 - self.faults / self.again if self.again else 1,
        }
        return sum(points * parts[name] for name, points in WEIGHTS.items())


def measured(dialogues: Sequence[Dialogue], settings: Sequence[ReplaySetting], *, lawful: bool = True) -> Measured:
    """The sums of a strategy: each setting has its SPEC and another price. Facts and faults are those at the first.

    Raises:
        UsageError: the strategy fails, or breaks a law though it must be `lawful`; in one line.
    """
    counter = counter_of(settings[0].model)
    priced = decides_by_price(settings[0].strategy, settings[0].model)
    played: list[list[list[RecordedCall]]] = []
    costs = []
    for setting in settings:
        if priced or not played:
            played.append([[*_calls(run, setting, lawful)] for run, _ in dialogues])
        each = (figures(run, calls, counter) for (run, _), calls in zip(dialogues, played[-1], strict=True))
        sums = sum(each, Figures())
        costs.append(sums.cost(setting.prices))
    kept: list[bool] = []
    asked: list[bool] = []
    for (run, facts), calls in zip(dialogues, played[0], strict=True):
        last = next((call.view.messages for call in reversed(calls) if call.view), ())
        kept += [any(fact in message.content for message in last) for fact in facts]
        asked += asked_again(run, calls)
    return Measured(costs, sums.calls, sum(kept), len(kept), asked.count(False), len(asked))


def _calls(run: Trajectory, setting: ReplaySetting, lawful: bool) -> Iterator[RecordedCall]:
    """The replayed calls. The history is sound, so that each note of a view is about the strategy's answer.

    A lawful strategy is replayed once more, from fresh state, and must make the same views; that costs nothing.
    """
    if not lawful:
        yield from replay(run, setting)
        return
    for call, again in zip([*replay(run, setting)], replay(run, setting), strict=True):
        view, broken = call.view, ""
        if view and view.notes:
            broken = f"the view had to be mended: {view.notes[0]}"
        elif view and view.tokens > view.limit:
            broken = f"{view.tokens:,} tokens, and the budget is {view.limit:,}"
        elif view != again.view:
            broken = "played twice from the start, it makes two different views"
        if broken:
            raise UsageError(f"{run.name}, turn {call.turn}: {broken}")
        yield call


def asked_again(run: Trajectory, calls: Iterable[RecordedCall]) -> Iterator[bool]:
    """For each call of a run that was made before, alike to the letter: whether the view shows the newest result."""
    results: dict[tuple[str, str], str] = {}
    made: dict[str, tuple[str, str]] = {}
    views = (call.view for call in calls)
    for message in run.messages:
        if message.role == "tool":
            results[made[message.call_id]] = message.id
        elif message.role == "assistant":
            view = next(views)
            shown = {one.id for one, fate in view.fated if fate in SHOWN} if view else set(results.values())
            for call in message.calls:
                made[call.id] = call.name, call.arguments
                if made[call.id] in results:
                    yield results[made[call.id]] in shown
