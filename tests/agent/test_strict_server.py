"""Whatever a strategy answers, a strict server takes what is sent of it; task and question are there, in order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import (
    Story,
    TinyCounter,
    broken_histories,
    budget,
    calls_of,
    is_faithful,
    messages,
    sound_histories,
)
from tests.support.scripted import Scripted
from tests.support.strict_server import refusal
from thimble.agent.budget import Budget
from thimble.agent.errors import BudgetError
from thimble.agent.messages import ROLES, Message, ToolCall, pending_turn
from thimble.agent.protocols import Strategy
from thimble.agent.side import SideModel
from thimble.agent.turns import question
from thimble.agent.view import View, prepare
from thimble.commands.replay import replay_strategy
from thimble.models import chat
from thimble.repl.cli.prepare import prepare_document

Breaks = Callable[[list[Message]], list[Message]]


@dataclass
class Nasty(Strategy):
    """A strategy that answers whatever it is told to."""

    breaks: Breaks

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        return self.breaks(list(messages))


@st.composite
def changes(draw: st.DrawFn) -> Breaks:
    """One nasty change of a view, at a place that is counted from the end: there it hurts."""
    back, to = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    stranger: Message = draw(messages())
    fields: dict[str, Any] = draw(
        st.sampled_from(
            [
                {"role": stranger.role},
                *({"role": role} for role in ROLES),
                {"role": "system", "covers": ("m1", "m2", "m3")},
                {"calls": stranger.calls},
                {"calls": (ToolCall("", ""), ToolCall("c1", "read"), ToolCall("c1", "read"))},
                {"call_id": stranger.call_id or "c1"},
                {"content": ""},
                {"id": stranger.id},
                {"why": "a reason", "covers": ("m2",)},
            ]
        )
    )

    def change(view: list[Message]) -> list[Message]:
        if not view:
            return view
        at, other = -min(back, len(view)), view[-min(to, len(view))]
        asked = question(view) or other
        match draw(st.integers(0, 9)):
            case 0:
                return view[:at]
            case 1:
                return [*view[:at], *view[len(view) + at + 1 :]]
            case 2:
                return [one for one in view if one.role != other.role]
            case 3:
                return [*view[:at], replace(view[at], **fields), *view[len(view) + at + 1 :]]
            case 4:
                return [*view[:at], replace(stranger, id=other.id), *view[at:]]
            case 5:
                return [*view[:at], replace(stranger, id=asked.id), *(one for one in view[at:] if one is not asked)]
            case 6:
                return [*view[:at], stranger, stranger]
            case 7:
                cover = replace(stranger, covers=tuple(one.id for one in view))
                return [view[0], cover, *view[at:]]
            case 8:
                return [replace(one, **fields) for one in view]
            case _:
                return view[::-1]

    return change


def all_of(every: Sequence[Breaks]) -> Breaks:
    def breaks(view: list[Message]) -> list[Message]:
        for one in every:
            view = one(view)
        return view

    return breaks


@given(sound_histories(most_turns=6), st.lists(changes(), min_size=1, max_size=3), st.sampled_from([600, 3_000, 10**6]))
def test_every_view_of_a_session_is_taken(history: list[Message], every: list[Breaks], limit: int) -> None:
    strategy, before = Nasty(all_of(every)), None
    for so_far in [*calls_of(history), history]:
        try:
            before = prepare(so_far, strategy, budget(limit), before)
        except BudgetError:
            continue
        sent = list(map(chat.write_message, before.messages))
        assert refusal(sent, may_wait=bool(pending_turn(so_far))) == ""
        assert is_faithful(before.messages, so_far) == []
        waiting = [message.id for message in pending_turn(before.messages)]  # `fit` may have cut their results
        assert waiting == [message.id for message in pending_turn(so_far)]


@given(broken_histories(), st.lists(changes(), max_size=3))
def test_a_prompt_of_the_filter_is_taken(history: list[Message], every: list[Breaks]) -> None:
    document = chat.read_conversation([*map(chat.write_message, history)])
    side = SideModel(Scripted([], TinyCounter()))
    written = prepare_document(document, "nasty", Nasty(all_of(every)), budget(10**6), side)
    assert refusal(written["messages"], may_wait=bool(pending_turn(document.repaired.messages))) == ""


HISTORY = Story().ask("the task").turn(60, 60).answer("a").ask("the question").turn(60, 60).messages


@pytest.mark.parametrize("gone", [1, 2])
def test_results_that_are_left_out_at_the_end_are_filled_in_as_in_the_middle(gone: int) -> None:
    view = [*replay_strategy(HISTORY, Nasty(lambda view: view[:-gone] if view[-1].role == "tool" else view), budget())][
        -1
    ].view
    assert isinstance(view, View)
    assert [message.content for message in view.messages[-gone:]] == ["[no result was recorded]"] * gone
    assert view.notes == ("filled in the missing result of read_article",) * gone


@pytest.mark.parametrize("role", ROLES)
def test_nothing_stands_for_the_task(role: Any) -> None:
    cover = Message("s", role, "…", covers=tuple(message.id for message in HISTORY))
    view = prepare(HISTORY, Nasty(lambda view: [cover]), budget())
    assert is_faithful(view.messages, HISTORY) == []
    assert HISTORY[1] in view.messages


@pytest.mark.parametrize(
    "history", [[{"role": "system"}], [{"role": "tool", "tool_call_id": "x"}, {"role": "user", "content": ""}]]
)
def test_the_strict_server_is_strict(history: list[dict[str, Any]]) -> None:
    assert refusal(history)
    calls = [{"id": "x", "type": "function", "function": {"name": "read", "arguments": "{}"}}]
    asking = {"role": "assistant", "content": None, "tool_calls": calls}
    assert refusal([asking]) == "no responses to ['x'] at the end"
    assert refusal([asking], may_wait=True) == ""
    assert "without response" in refusal([asking, {"role": "user", "content": ""}])
