"""llm-summary and critic-summary: Eq. 5 and 6 of The Complexity Trap, to the letter."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import budget, calls_of, react_history
from tests.support.paths import ROOT
from tests.support.specs import Summariser, build, named_summary
from thimble.agent.messages import Message, ToolCall, turns
from thimble.agent.prompts import SUMMARY_TAG
from thimble.agent.view import prepare

ENDLESS = budget(10**9)


def eq_5_and_6(t: int, t_last: int, n: int, m: int) -> tuple[int, list[int], list[int]]:
    """At the beginning of turn t: the new t_last, the turns of T_sum, and the turns of the trajectory after s_t."""
    accumulated = (t - 1) - t_last
    if accumulated >= n + m:
        return t - 1 - m, list(range(t_last + 1, t - m)), list(range(t - m, t))
    return t_last, [], list(range(t_last + 1, t))


@pytest.mark.parametrize("name", ["llm-summary", "critic-summary"])
@given(st.integers(1, 12), st.integers(0, 6), st.integers(1, 60))
def test_eq_5_and_6_to_the_letter(name: str, n: int, m: int, steps: int) -> None:
    backend = Summariser(lambda messages: f"s{len(backend.prompts)} {named_summary(messages)}")
    strategy = build(f"{name}:every={n},tail={m}", backend)
    history = react_history(steps, tokens=200)
    o_sys, o_user = history[:2]
    turn = [[]] + [[history[index] for index in found] for found in turns(history)]
    t_last, s_last = 0, ""
    for t, messages in enumerate(calls_of(history), 1):
        asked = len(backend.prompts)
        view = strategy.prepare(messages, ENDLESS)
        t_last, t_sum, tail = eq_5_and_6(t, t_last, n, m)
        assert len(backend.prompts) == asked + bool(t_sum)
        if t_sum:
            *sent, o_si = backend.prompts[-1]
            assert texts(sent) == texts([o_sys, o_user, *memory(s_last), *(one for i in t_sum for one in turn[i])])
            assert o_si.content.startswith("Stop here.")
            s_last = f"s{len(backend.prompts)} {named_summary(backend.prompts[-1])}"
        assert texts(view) == texts([o_sys, o_user, *memory(s_last), *(one for i in tail for one in turn[i])])


def texts(messages: list[Message]) -> list[tuple[object, ...]]:
    return [message.sent for message in messages]


def memory(s_last: str) -> list[Message]:
    return [Message("s", "user", f"{SUMMARY_TAG}\n{s_last}")] if s_last else []


def test_turns_that_one_call_cannot_read_go_in_pieces() -> None:
    """Nothing is covered that the summariser has not read."""
    backend = Summariser(longest=8_000)
    view = prepare(react_history(31), build("llm-summary:paper", backend), budget())
    assert len(backend.prompts) == 3
    read = [message.id for prompt in backend.prompts for message in prompt]
    covered = next(message.covers for message in view.messages if message.covers)
    assert list(covered) == [message.id for message in react_history(21)[2:]]
    assert set(covered) <= set(read)
    assert not any("tokens cut" in message.content for prompt in backend.prompts for message in prompt)


def test_the_critic_is_asked_for_reflections_in_the_same_call() -> None:
    backend = Summariser(lambda messages: "Done:\n- a\nReflections:\n- b")
    plain, critic = (build(f"{name}-summary:every=3,tail=2", backend) for name in ("llm", "critic"))
    view = critic.prepare(react_history(5), ENDLESS)
    plain.prepare(react_history(5), ENDLESS)
    with_critique, without = (prompt[-1].content for prompt in backend.prompts)
    assert "\n- Reflections: " in with_critique
    asked = with_critique.partition("\n- Reflections: ")[2]
    aspects = ("serve", "nearer", "circles", "habit", "earlier reflections", "not been tried", "at most two", "Next:")
    assert all(aspect in asked for aspect in aspects)
    assert not any(line.startswith("- ") for line in asked.split("\n"))  # it is one section, the last
    assert "Reflections" not in without
    assert with_critique.startswith(without)
    assert [message.content for message in view if message.covers] == [f"{SUMMARY_TAG}\nDone:\n- a\nReflections:\n- b"]


def test_the_example_folds_when_a_call_was_made_three_times() -> None:
    backend = Summariser()
    strategy = build(f"{ROOT / 'docs' / 'examples' / 'circles.py'}:Circles:every=99,tail=5", backend)
    history = [Message("q", "user", "?")]
    for at, arguments in enumerate(["a", "a", "b", "a", "a"]):
        call = ToolCall(f"c{at}", "read", arguments)
        history += [Message(f"m{at}", "assistant", "", calls=(call,))]
        history += [Message(f"o{at}", "tool", "long " * 100, call_id=call.id, name="read")]
        view = [*strategy.prepare(history, ENDLESS)]
        assert len(backend.prompts) == (at >= 3)
    assert [message.id for message in view] == ["q", view[1].id, "m3", "o3", "m4", "o4"]
    assert set(view[1].covers) == {"m0", "o0", "m1", "o1", "m2", "o2"}
