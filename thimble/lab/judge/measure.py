"""Measure a strategy on the dialogues: the laws first, then its cost, its faults and the facts that it keeps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import cycle
from statistics import mean

from thimble.agent.errors import UsageError
from thimble.commands.trajectories import Trajectory
from thimble.lab.experiment import Row
from thimble.lab.judge.dialogues import Dialogue, shown_facts
from thimble.lab.replay.recorded_replay import (
    Make,
    RecordedCall,
    ReplaySetting,
    counter_of,
    decides_by_price,
    replay_run,
    run_cost,
    run_figures,
)
from thimble.strategies.spec import make_strategy

WEIGHTS: Mapping[str, int] = {"saved": 30, "facts": 40, "found": 30}
"""The maximum points of each part of the score."""


def cost_shares(found: Row, everything: Row) -> list[float]:
    """The cost at each price, as a share of the cost of sending everything."""
    return [one / of for one, of in zip(found["costs"], everything["costs"], strict=True)]


def contest_score(found: Row, everything: Row) -> float:
    """The points of a strategy, at most 100: for cost saved, for facts kept, and for results still in view."""
    parts = {
        "saved": 1 - mean(cost_shares(found, everything)),
        "facts": found["kept"] / found["planted"] if found["planted"] else 1,
        "found": 1 - found["repeats"] / found["again"] if found["again"] else 1,
    }
    return sum(points * parts[name] for name, points in WEIGHTS.items())


def measure_strategy(
    dialogues: Sequence[Dialogue], settings: Sequence[ReplaySetting], make: Make = make_strategy, *, lawful: bool = True
) -> Row:
    """The sums of a strategy over all dialogues: each setting has its SPEC and another price.

    `costs` has one for each price; a computed prompt token costs 1. `calls` counts the calls with a view. `planted`
    counts the facts that each call could show, `kept` those that its view shows. `again` counts the repeated calls of a
    dialogue, `repeats` those of them whose earlier result the view does not show whole; `quoted` and `quoted_lost` are
    as in `Faults`. Facts and faults are those at the worst price.

    All prices are played side by side, call by call, so that no play learns the future from an earlier one. A `lawful`
    strategy is played once more, from fresh state, and must make the same views; that play costs nothing.

    Raises:
        UsageError: the strategy fails, or must be `lawful` and breaks a law; in one line.
    """
    model = settings[0].model
    played = settings if decides_by_price(settings[0].strategy, model, make) else settings[:1]
    costs, sums = [0.0] * len(settings), [Counter[str]() for _ in played]
    for run, facts in dialogues:
        plays = [replay_run(run, setting, make) for setting in (*played, *played[: 1 if lawful else 0])]
        calls: list[Sequence[RecordedCall]] = []
        for now in zip(*plays, strict=True):
            if lawful:
                _check_laws(run, now)
            calls.append(now)
        each = [*zip(*calls, strict=True)][: len(played)]
        made = [run_figures(run, ours, counter_of(model)) for ours in each]
        costs = [total + run_cost(of, one.prices) for total, one, of in zip(costs, settings, cycle(made), strict=False)]
        for total, of, ours in zip(sums, made, each, strict=True):
            kept = [*shown_facts(facts, ((call.view.history, call.view.messages) for call in ours if call.view))]
            total.update({name: of[name] for name in ("calls", "quoted", "quoted_lost", "again", "repeats")})
            total.update(kept=sum(kept), planted=len(kept))
    worst = {name: min(total[name] for total in sums) for name in ("calls", "kept", "planted", "quoted", "again")}
    return {
        "costs": costs,
        **worst,
        **{name: max(total[name] for total in sums) for name in ("quoted_lost", "repeats")},
    }


def _check_laws(run: Trajectory, calls: Sequence[RecordedCall]) -> None:
    """Raise UsageError if a law is broken. The history is valid, so notes of a view are faults of the strategy."""
    for call in calls:
        view, broken = call.view, ""
        if view and view.notes:
            broken = f"the view had to be repaired: {view.notes[0]}"
        elif view and view.tokens > view.limit:
            broken = f"{view.tokens:,} tokens, and the budget is {view.limit:,}"
        elif calls[0].view != calls[-1].view:
            broken = "played twice from the start, it makes two different views"
        if broken:
            raise UsageError(f"{run.name}, turn {call.turn}: {broken}")
