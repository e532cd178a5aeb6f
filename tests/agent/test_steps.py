"""Steps: who changed a message on its way into the view; what they say adds up to what the view is."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.histories import Story, budget, sound_histories
from tests.support.specs import build
from thimble.agent.budget import Budget
from thimble.agent.errors import BudgetError
from thimble.agent.messages import Message
from thimble.agent.protocols import Strategy
from thimble.agent.view import View, prepare
from thimble.commands.why import why

LOG = "\x1b[32mok\x1b[0m build step done   \n" * 40


def results(*contents: str) -> Sequence[Message]:
    story = Story().ask("What?")
    for content in contents:
        story.turn(0)
        last = story.messages[-1]
        story.messages[-1] = Message(last.id, "tool", content, call_id=last.call_id, name=last.name)
    return story.ask("And?").messages


def view_of(strategy: Strategy, history: Sequence[Message], limit: int = 8_000, before: View | None = None) -> View:
    return prepare(history, strategy, budget(limit), before)


def chain(view: View, limit: Budget) -> None:
    """Each step begins where the one before ended, from the original to what is sent."""
    shown = {message.id: message for message in view.messages}
    for message, fate in view.fated:
        steps = view.steps.get(message.id, ())
        assert bool(steps) == (fate != "kept")
        if steps:
            assert steps[0].before == limit.count(message)
            assert all(one.tokens == other.before for one, other in pairwise(steps))
            assert steps[-1].fate == fate
            assert steps[-1].tokens == (limit.count(shown[message.id]) if message.id in shown else 0)


@pytest.mark.parametrize("spec", ["none", "tidy+dedup+compress:when=arrival", "observation-masking", "dedup+thrifty"])
@settings(max_examples=20)
@given(history=sound_histories(most_turns=12), limit=st.sampled_from([900, 4_000]))
def test_steps_lead_from_the_original_to_what_is_sent(spec: str, history: Sequence[Message], limit: int) -> None:
    try:
        view = view_of(build(spec), history, limit)
    except BudgetError:
        return
    chain(view, budget(limit))


def test_the_parts_and_fit_are_named() -> None:
    view = view_of(build("tidy+compress:when=arrival"), results(LOG, LOG, "word " * 4_000), 2_000)
    named = {step.by for steps in view.steps.values() for step in steps}
    assert named == {"tidy", "compress", "fit"}
    assert [step.by for step in view_of(build("tidy+none"), results(LOG)).steps["m4"]] == ["tidy"]
    assert why(view_of(build("tidy+none"), results(LOG)), 3).startswith("tidy made it ")


def test_a_single_strategy_has_no_name_in_its_steps() -> None:
    view = view_of(build("observation-masking:window=0,when=always"), results("word " * 300))
    assert [step.by for step in view.steps["m4"]] == [""]
    assert why(view, 3) == "no turn stays whole"
