"""The checks: laws that each view must keep, and traces of a whole run. A set of exercises names them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import add
from random import Random
from typing import Any

from thimble.agent.budget import Prices
from thimble.agent.errors import ModelError, UsageError, did_you_mean
from thimble.agent.fates import list_fates
from thimble.agent.messages import Message, common_prefix, last_turn
from thimble.agent.messages import turns as turns_of
from thimble.agent.turns import pinned
from thimble.lab.experiment import Row
from thimble.lab.judge.dialogues import facts_of, shown_facts
from thimble.lab.judge.measure import contest_score
from thimble.workshop.trial import PLANTED_VALUE, TrialCall, WorkshopTrial

FOUR_PRICES = (0.0, 0.1, 0.5, 1.0)
"""Prices of a cached token; a computed one costs 1."""
MASK_TOKENS = 15
"""Tokens of a mask, at a generous estimate."""


@dataclass(frozen=True)
class Fault:
    """A broken check: the index of the call (-1: the whole run), the id of the message (or "") and why, in one line."""

    call: int
    message: str
    why: str


@dataclass(frozen=True)
class TrialRun:
    """A run of a strategy: its trial, its calls, all runs. `said`: remarks of the checks that pass."""

    trial: WorkshopTrial
    calls: Sequence[TrialCall]
    all: Sequence[TrialRun] = ()
    said: list[str] = field(default_factory=list)


Found = tuple[str, str] | None
"""A broken law: the id of the message ("" for none), and why."""
Check = Callable[..., Fault | None]
CHECKS: dict[str, Check] = {}
"""The checks by the names that a set of exercises gives them."""


def check(function: Check) -> Check:
    """Register a check under its name, with hyphens; a set may give its parameters."""
    CHECKS[function.__name__.replace("_", "-")] = function
    return function


def law(function: Callable[..., Found]) -> Check:
    """Register a check of each single call: the function returns the message and the reason, or None."""

    def every_call(run: TrialRun, **given: Any) -> Fault | None:
        for at, call in enumerate(run.calls):
            if found := function(call, **given):
                return Fault(at, *found)
        return None

    every_call.__name__ = function.__name__
    every_call.__wrapped__ = function  # type: ignore[attr-defined]
    return check(every_call)


# --- laws of one view -------------------------------------------------------------------------------------------------


@law
def keeps_pinned(call: TrialCall) -> Found:
    """The system message, the task and the question are there, word for word."""
    shown = {message.id: message for message in call.view}
    for message in pinned(call.history):
        if message.id not in shown or not shown[message.id].same(message):
            what = "system message" if message.role == "system" else "task" if message.id == "m2" else "question"
            done = "changed" if message.id in shown else "missing"
            return message.id, f"the {what} is {done}: every view must show it word for word"
    return None


@law
def keeps_order(call: TrialCall) -> Found:
    """Messages stay in the order of the history, each once."""
    places, seen, latest = {message.id: at for at, message in enumerate(call.history)}, set[str](), -1
    for message in call.view:
        if message.id in seen:
            return message.id, "this message is in the view twice"
        place = places.get(message.id, latest)
        if place < latest:
            return message.id, "this message is not where it was: a view keeps the order of the history"
        latest = place
        seen.add(message.id)
    return None


@law
def keeps_pairs(call: TrialCall) -> Found:
    """Each result follows its call, and each call has its result."""
    waiting: dict[str, str] = {}
    calls = {message.id: message.calls for message in call.history}
    for message in call.view:
        if message.role == "tool":
            if message.call_id not in waiting:
                return (
                    message.id,
                    "an orphan: this result answers no call before it in the view, so a server refuses it",
                )
            del waiting[message.call_id]
        elif waiting:
            break
        else:
            waiting = {one.id: message.id for one in message.calls}
            if message.calls != calls.get(message.id, message.calls):
                return message.id, "the calls of this message are changed, so the model learns to call like that"
    if waiting:
        return next(iter(waiting.values())), "a call of this message has no result in the view, so a server refuses it"
    return None


@law
def keeps_words(call: TrialCall) -> Found:
    """Only results change, and to something shorter; what the user and the model said stays, and no message goes."""
    shown = {message.id: message for message in call.view}
    for message, fate in zip(call.history, list_fates(call.history, call.view), strict=True):
        if fate == "dropped":
            return message.id, "this message is gone: a masked result is a copy, message.rewritten(text, why)"
        if message.role != "tool" and fate != "kept":
            return message.id, f"these are the words of the {message.role}: only results may be changed"
        copy = shown.get(message.id, message)
        if fate != "kept" and not 0 < len(copy.content.strip()) < len(message.content):
            return message.id, "a mask is one line that says what is hidden, and is shorter: not an empty one"
    return None


@law
def hides_results(call: TrialCall) -> Found:
    """A changed result is one short line that repeats no part of the result."""
    shown = {message.id: message for message in call.view}
    for message in call.history:
        copy = shown.get(message.id, message)
        if not copy.same(message):
            (count, told), (_, hidden) = _word_runs(copy.content), _word_runs(message.content)
            if told & hidden or not 0 < count <= 2 * MASK_TOKENS:
                return (
                    message.id,
                    "a mask is a short line in its own words: this is long, empty, or repeats the result",
                )
    return None


def _word_runs(text: str) -> tuple[int, set[tuple[str, ...]]]:
    """The number of words in a text; its numbers, and each three words in a row."""
    words = re.findall(r"\w+", text.lower())
    runs = zip(words, words[1:], words[2:], strict=False)
    return len(words), {*runs, *((word,) for word in words if word.isdigit())}


@law
def keeps_newest(call: TrialCall, turns: int = 1) -> Found:
    """The newest turns are whole."""
    found = turns_of(call.history)[-turns:]
    start = found[0].start if found else len(call.history)
    shown = {message.id: message for message in call.view}
    for message in call.history[start:]:
        if message.id not in shown or not shown[message.id].same(message):
            which = "newest turn, which the model has yet to use" if turns == 1 else f"{turns} newest turns"
            return message.id, f"this message belongs to the {which}: it must stay whole"
    return None


@law
def whole_while_it_fits(call: TrialCall) -> Found:
    """A history that fits is sent unchanged."""
    size, same = call.budget.size(call.history), common_prefix(call.history, call.view)
    if size > call.budget.limit or same == len(call.history) == len(call.view):
        return None
    return call.history[min(same, len(call.history) - 1)].id, (
        f"the whole history takes {size:,} of {call.budget.limit:,} tokens, so it fits, "
        "and still this message is changed"
    )


@law
def fits(call: TrialCall) -> Found:
    """The view is within the budget, if that is possible."""
    budget = call.budget
    needed = {one.id: one for one in (*pinned(call.history), *call.history[last_turn(call.history) :])}
    size = budget.size(call.view)
    if size <= budget.limit or budget.size(needed.values()) + 2 * MASK_TOKENS > budget.limit:
        return None
    largest = max((one for one in call.view if one.id not in needed), key=budget.count, default=call.view[-1])
    return largest.id, (
        f"the view takes {size:,} tokens, more than the {budget.limit:,} of the budget: "
        "this is the largest message that could be smaller"
    )


@law
def nothing_lost(call: TrialCall) -> Found:
    """Each message is in the view, or a summary says that it covers it."""
    for message, fate in zip(call.history, list_fates(call.history, call.view), strict=True):
        if fate == "dropped":
            return message.id, "this message is gone, and no message of the view names it in its `covers`"
    empty = next((message for message in call.view if message.covers and not message.content.strip()), None)
    return (empty.id, "this summary says nothing about what it covers") if empty else None


@law
def keeps_values(call: TrialCall) -> Found:
    """Each planted value is somewhere in the view."""
    shown = {value for message in call.view for value in PLANTED_VALUE.findall(message.content)}
    for message in call.history:
        if lost := set(PLANTED_VALUE.findall(message.content)) - shown:
            return message.id, f"the value {lost.pop()} of this message is nowhere in the view: no summary has it yet"
    return None


@law
def can_recall(call: TrialCall) -> Found:
    """The copy of each result that is moved away says how `recall` gets it back."""
    shown = {message.id: message for message in call.view}
    for message in call.history:
        copy = shown.get(message.id)
        if message.role == "tool" and copy and not copy.same(message):
            if message.id not in copy.content:
                return (
                    message.id,
                    f"the text in place of this result does not name {message.id}: no model can recall it",
                )
            if copy.ref != message.id:
                return message.id, "this copy has no ref: message.rewritten(text, why, ref=message.id)"
            if "recall" not in call.tools:
                return message.id, 'no tool brings this result back: write tools = ("recall",) in the class'
    return None


# --- traces of a run --------------------------------------------------------------------------------------------------


@law
def keeps_prefix(call: TrialCall) -> Found:
    """The prefix changes only if the untouched view is over the budget."""
    same, size = common_prefix(call.untouched, call.view), call.budget.size(call.untouched)
    if size > call.budget.limit or same >= call.before:
        return None
    return call.untouched[same].id, (
        f"the view before and the new messages take {size:,} of {call.budget.limit:,} tokens, so nothing had to "
        "change; the server recomputes everything after this message"
    )


@law
def frees(call: TrialCall, to: float) -> Found:
    """An edit brings the view down to this share of the budget, or leaves no older result unmasked."""
    share = call.budget.size(call.view) / call.budget.limit
    same = common_prefix(call.untouched, call.view)
    if same == len(call.untouched) == len(call.view) or share <= to:
        return None
    for message, fate in zip(
        call.history[: last_turn(call.history)], list_fates(call.history, call.view), strict=False
    ):
        if message.role == "tool" and fate == "kept" and call.budget.count(message) > MASK_TOKENS:
            return message.id, (
                f"after this edit the view still takes {share:.0%} of the budget, so the next edit is near; "
                f"come down to {to:.0%} at once: this result could go too"
            )
    return None


@law
def asks_seldom(call: TrialCall) -> Found:
    """The model is asked only if the untouched view is over the budget."""
    size = call.budget.size(call.untouched)
    if not call.asks or size > call.budget.limit:
        return None
    return "", f"the model was asked although {size:,} of {call.budget.limit:,} tokens fit: keep its reply in state"


@law
def masks_first(call: TrialCall) -> Found:
    """The model is asked only if masks alone are not enough."""
    count = call.budget.count
    old = {message.id for message in call.history[: last_turn(call.history)] if message.role == "tool"}
    size = call.budget.size(call.untouched)
    size -= sum(max(0, count(one) - MASK_TOKENS) for one in call.untouched if one.id in old)
    if not call.asks or size > call.budget.limit:
        return None
    return (
        "",
        f"the model was asked although masks alone bring the view down to {size:,} of {call.budget.limit:,} tokens",
    )


@check
def as_solution(run: TrialRun, rule: str) -> Fault | None:
    """Each message has the fate that the model solution gives it; `rule` says which."""
    for at, (call, solved) in enumerate(zip(run.calls, replace(run.trial, spec=run.trial.solution).run(), strict=True)):
        fated = zip(
            call.history, list_fates(call.history, call.view), list_fates(call.history, solved.view), strict=True
        )
        for message, got, wanted in fated:
            if got != wanted:
                return Fault(at, message.id, f"this message is {got}, and must be {wanted}: {rule}")
        if extra := {message.id for message in call.view} - {message.id for message in call.history}:
            return Fault(at, min(extra), f"this message is not of the history: {rule}")
    return None


@check
def is_deterministic(run: TrialRun) -> Fault | None:
    """A second run of the strategy from the start makes the same views."""
    for at, (call, again) in enumerate(zip(run.calls, run.trial.run(), strict=True)):
        if [*call.view] != [*again.view]:
            return Fault(at, "", "a second run from the start makes another view: chance, or memory of other runs")
    return None


@check
def survives_failure(run: TrialRun) -> Fault | None:
    """A model that fails costs nothing but its summary."""
    try:
        calls = replace(run.trial, fails=True).run()
    except ModelError:
        return Fault(
            len(run.calls) - 1, "", "the server of the model was gone, and prepare raised ModelError: catch it"
        )
    return CHECKS["nothing-lost"](TrialRun(run.trial, calls))


@check
def saves_state(run: TrialRun) -> Fault | None:
    """The state can be written as JSON after every call."""
    try:
        _states(run)
    except (TypeError, ValueError, RecursionError) as error:
        return Fault(-1, "", f"state cannot be written as JSON: {error}")
    return None


@check
def survives_resume(run: TrialRun) -> Fault | None:
    """A fresh strategy with the saved state makes the same next view."""
    if fault := saves_state(run):
        return fault
    for at, (state, call) in enumerate(zip(_states(run), run.calls[1:], strict=False), 1):
        view = run.trial.resumed(json.loads(state), call.history)
        same = common_prefix(view, call.view)
        if same < max(len(view), len(call.view)):
            lost = (call.view if same < len(call.view) else view)[same]
            fated = zip(call.history, list_fates(call.history, call.view), list_fates(call.history, view), strict=True)
            told = {one.id: f"this message is {was}, and after a resume {now}" for one, was, now in fated if was != now}
            why = told.get(lost.id, "after a resume this message is another")
            return Fault(at, lost.id, f"{why}: state does not hold it all")
    return None


def _states(run: TrialRun) -> list[str]:
    """The state after each call, as JSON."""
    saved: list[str] = []
    run.trial.run(lambda strategy, call: saved.append(json.dumps(strategy.state)))
    return saved


@check
def never_waits(run: TrialRun, turns: int) -> Fault | None:
    """The summary is asked for in the background, and used when it has come."""
    for at, call in enumerate(run.calls):
        if call.waits:
            return Fault(at, "", "the agent waited for the model: begin() a call, and look() at it later")
    long = next((at for at, call in enumerate(run.calls) if len(_acts(call.history)) >= turns), None)
    if long is not None and not any(message.covers for message in run.calls[long].view):
        return Fault(long, "", f"after {turns} turns no summary has come into the view")
    return None


@check
def costs_little(run: TrialRun, rivals: Sequence[str], within: float) -> Fault | None:
    """At each of four prices of a cached token, the run costs at most `within` times as much as the cheapest rival."""
    for price in FOUR_PRICES:
        trial = replace(run.trial, prices=Prices(price))
        cost = trial.cost(trial.run())
        costs = {rival: trial.cost(replace(trial, spec=rival).run()) for rival in rivals}
        best = min(costs, key=costs.__getitem__)
        if cost > within * costs[best]:
            return Fault(-1, "", (
                f"with a cached token at {price:g}, the run costs {cost:,.0f}; the strategy `{best}` costs "
                f"{costs[best]:,.0f}, and up to {within * costs[best]:,.0f} is allowed"
            ))  # fmt: skip
    return None


@check
def wins(run: TrialRun, rivals: Sequence[str]) -> Fault | None:
    """The score of `thimble lab judge` on all histories is higher than that of each rival."""
    if run is not run.all[-1]:
        return None  # one contest, of all runs
    trials = [each.trial for each in run.all]
    everything, ours = measured(trials, "none"), measured(trials, run.trial.spec)
    theirs = {rival: measured(trials, rival) for rival in rivals}
    own = contest_score(ours, everything)
    best, rival = max((contest_score(row, everything), rival) for rival, row in theirs.items())
    if own <= best:
        return Fault(-1, "", (
            f"your score is {own:.1f}, and the best rival, {rival}, has {best:.1f}: higher wins. Facts are any words "
            "of any result, so no pattern finds them"
        ))  # fmt: skip
    run.said.append(f"your score is {own:.1f}, and that of the best rival, {rival}, {best:.1f}")
    return None


def measured(trials: Iterable[WorkshopTrial], spec: str) -> Row:
    """The sums of a contest: the cost at four prices, and the facts that the views show."""
    kept: list[bool] = []
    costs = [0.0] * len(FOUR_PRICES)
    for trial in (replace(trial, spec=spec) for trial in trials):
        calls = trial.run()
        facts = facts_of(trial.history, Random(trial.history[-1].content), len(trial.history))
        kept += shown_facts(facts, ((call.history, call.view) for call in calls))
        priced = (replace(trial, prices=Prices(price)).cost(calls) for price in FOUR_PRICES)
        costs = [*map(add, costs, priced)]
    return {"costs": costs, "kept": sum(kept), "planted": len(kept), "repeats": 0, "again": 0}


def _acts(history: Sequence[Message]) -> list[range]:
    return [turn for turn in turns_of(history) if history[turn.start].calls]


def named_check(name: str) -> Check:
    """The check with this name. Raises UsageError for an unknown name."""
    if name not in CHECKS:
        rest = f"the checks: {', '.join(CHECKS)}"
        raise UsageError(f"there is no check {name!r}", did_you_mean(name, CHECKS, rest))
    return CHECKS[name]
