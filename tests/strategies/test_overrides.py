"""The user's hand on the context: what is dropped, rewritten and pinned holds under every strategy, within the laws."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import LIMITS, budget, calls_of, is_faithful, is_sound, pending_calls, sound_histories
from tests.support.specs import EVERY, build, specs
from thimble.agent.errors import BudgetError
from thimble.agent.messages import YOU, Message, blocks
from thimble.agent.override import Decision, Override
from thimble.agent.turns import pinned
from thimble.agent.view import View, prepare
from thimble.commands.why import why

DEEDS: list[Decision] = ["pinned", "dropped", "edited"]
DECISIONS = st.lists(st.tuples(st.integers(0, 60), st.sampled_from(DEEDS)))


def overrides_of(history: Sequence[Message], decisions: Sequence[tuple[int, Decision]]) -> dict[str, Override]:
    """The newest decision about a message counts."""
    ids = ((history[place % len(history)].id, deed) for place, deed in decisions)
    return {id_: Override(id_, deed, "In short: 4711.") for id_, deed in ids}


def holds(view: View, messages: Sequence[Message], overrides: dict[str, Override]) -> None:
    """Each decision is seen in the view, but for what every view must show."""
    shown, laws = (
        {message.id: message for message in view.messages},
        {message.id for message in pinned(messages)},
    )
    whys = {message.id: why(view, place) for place, message in enumerate(view.history)}
    for block in blocks(messages):
        turn = [messages[at] for at in block]
        its = {one.id: overrides[one.id] for one in turn if one.id in overrides and one.id not in laws}
        if any(one.deed == "dropped" for one in its.values()):
            assert [one.id for one in turn if one.id in shown] == []
            assert {whys[one.id] for one in turn} == {"you dropped it"}
            continue
        assert not its or [one.id for one in turn if one.id not in shown] == []
        for message in turn:
            if one := its.get(message.id):
                assert shown[message.id].content == (one.text if one.deed == "edited" else message.content)
                assert whys[message.id].startswith("you ") or shown[message.id].ref != YOU
    assert {message.id for message, fate in view.fated if fate == "edited"} <= {*overrides}


@pytest.mark.parametrize("name", EVERY)
@given(data=st.data())
def test_a_decision_holds_from_the_call_after_it(name: str, data: st.DataObject) -> None:
    history = data.draw(sound_histories(most_turns=30).filter(bool), label="history")
    allowed = budget(data.draw(LIMITS, label="limit"), overhead=20)
    decided, since = overrides_of(history, data.draw(DECISIONS)), data.draw(st.integers(0, 20), label="since call")
    spec, before = data.draw(specs(name), label="spec"), None
    strategy = build(spec)
    for place, messages in enumerate([*calls_of(history), history]):
        overrides = decided if place >= since else {}
        strategy = build(spec) if place == since else strategy  # no summary tells what is dropped
        try:
            before = prepare(messages, strategy, allowed, before, overrides=overrides)
        except BudgetError:
            continue
        assert is_sound(before.messages) == []
        assert pending_calls(before.messages) == pending_calls(messages)
        assert is_faithful(before.messages, messages, fitted=True) == []
        assert before.notes == ()
        assert before.tokens <= allowed.limit or not getattr(strategy, "fitted", True)
        holds(before, messages, overrides)
