"""The law of going on: a session that goes on from call to call has the views of one made from nothing at each call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from math import ceil
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent.budget import Budget
from agent.errors import BudgetError
from agent.history import History
from agent.messages import Message
from agent.protocols import Strategy
from agent.view import View, prepare
from tests.support.histories import LIMITS, TinyCounter, calls_of, sound_histories
from tests.support.specs import EVERY, SUMMARISERS, Summariser, build, leave, specs, state_of


@dataclass
class Calibrated(TinyCounter):
    """A counter whose counts change when a server corrects them."""

    learnt: float = 1.0

    def count(self, message: Message) -> int:
        return ceil(super().count(message) * self.learnt)


def cold(view: View | None) -> View | None:
    """The same view, sharing no object with the histories of the session that goes on."""
    if view is None:
        return None
    messages, history = History([*view.messages]), History([*view.history])
    return replace(view, messages=messages, history=history, fates=tuple(view.fates), fit=None)


def from_nothing(
    spec: str, state: Any, answer: str, messages: Sequence[Message], allowed: Budget, before: View | None
) -> View | str:
    """The view of a strategy that is made anew with this state, over a history that is made anew."""
    strategy = build(spec, Summariser(SUMMARISERS[answer]))
    if state:
        strategy.state = state
    return asked(strategy, History([*messages]), allowed, cold(before))


def asked(strategy: Strategy, history: History, allowed: Budget, before: View | None) -> View | str:
    try:
        return prepare(history, strategy, allowed, before)
    except BudgetError as error:
        return str(error)


def shown(view: View | str) -> object:
    """All of a view, also what no comparison looks at."""
    if isinstance(view, str):
        return view
    plain = {one.name: getattr(view, one.name) for one in fields(view) if one.name != "fit"}
    lists = {name: [*plain[name]] for name in ("messages", "fates", "history")}
    whys = [(message.why, message.covers, message.ref) for message in view.messages]
    return plain | lists | {"left_out": dict(view.left_out), "whys": whys}


@pytest.mark.parametrize("name", EVERY)
@given(st.data())
def test_a_view_that_goes_on_is_the_view_made_from_nothing(name: str, data: st.DataObject) -> None:
    spec, history = data.draw(specs(name)), data.draw(sound_histories(most_turns=20))
    answer = data.draw(st.sampled_from(["short", "fails", "empty"]))
    counter = Calibrated()
    allowed = Budget(data.draw(LIMITS), counter, 20)
    strategy, before, grown = build(spec, Summariser(SUMMARISERS[answer])), None, History()
    for messages in calls_of(history):
        grown = grown.plus(*messages[len(grown) :])
        match data.draw(st.sampled_from(["on", "on", "on", "on", "withdraw", "budget", "calibrate", "swap", "apart"])):
            case "withdraw":
                aside = grown.plus(Message("withdrawn", "user", "Never mind?"))
                grown = aside.upto(len(grown))
            case "budget":
                allowed = replace(allowed, limit=data.draw(LIMITS))
            case "calibrate":
                counter.learnt = data.draw(st.sampled_from([0.5, 1.0, 1.3]))
            case "swap":
                spec = data.draw(specs(name))
                strategy = build(spec, Summariser(SUMMARISERS[answer]))
            case "apart":
                grown = grown.apart()
        leave(strategy)
        state = state_of(strategy)
        anew = from_nothing(spec, state, answer, messages, allowed, before)
        view = asked(strategy, grown, allowed, before)
        assert shown(view) == shown(anew)
        before = view if isinstance(view, View) else before
