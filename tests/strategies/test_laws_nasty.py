"""Law 8, that nothing is too nasty for a strategy, and what its state is good for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.family import family
from tests.support.histories import (
    LIMITS,
    Story,
    budget,
    calls_of,
    is_faithful,
    is_sound,
    pending,
    react,
    react40,
    sound_histories,
)
from tests.support.specs import EVERY, OWN, SOME, build, leave, specs, state_of
from thimble.agent.errors import BudgetError
from thimble.agent.messages import Message
from thimble.agent.repair import repair
from thimble.agent.turns import task
from thimble.agent.view import prepare

every_strategy = pytest.mark.parametrize("name", EVERY)
some_specs = pytest.mark.parametrize("spec", SOME)
BY_DAY = (
    "none",
    "observation-masking",
    "summary-buffer",
    "thrifty",
    "comem",
    "retrieval",
    "tidy+observation-masking+dedup",
)
LONG = SOME if OWN else family([spec for spec in SOME if ":" not in spec], *BY_DAY)

# --- 8 ----------------------------------------------------------------------------------------------------------------


def nameless(history: list[Message]) -> list[Message]:
    """The same with calls and results that have no ids."""
    calls = [tuple(replace(call, id="") for call in message.calls) for message in history]
    return [replace(message, calls=made, call_id="") for message, made in zip(history, calls, strict=True)]


NASTY: dict[str, list[Message]] = {
    "nothing": [],
    "a system message": Story().messages,
    "a question": Story().ask("?").messages,
    "no system message": Story(None).ask("?").turn(900).turn(900).messages,
    "no user message": Story().turn(900).turn(900).turn(900, pending=1).messages,
    "empty contents": [replace(message, content="") for message in react(20)],
    "no contents": [replace(message, content=None) for message in react(20)],  # type: ignore[arg-type]
    "some contents missing": [
        replace(message, content=None) if place % 5 == 3 else message  # type: ignore[arg-type]
        for place, message in enumerate(react(20))
    ],
    "one huge result": Story().ask("?").turn(60_000).messages,
    "a huge result among others": Story().ask("?").turn(600).turn(60_000, 5).turn(600).turn(600).messages,
    "many parallel calls": Story().ask("?").turn(*[400] * 12).turn(*[400] * 12).messages,
    "calls without ids": nameless(react(20, at_once=3)),
    "pending": Story().ask("?").turn(900).turn(900).turn(900, 900, pending=2).messages,
    "half pending": Story().ask("?").turn(900).turn(900).turn(900, 900, pending=1).messages,
    "reversed": react40()[::-1],
    "results without calls": [message for message in react(20) if not message.calls],
    "calls without results": [message for message in react(20) if message.role != "tool"],
    "doubled": react(10) + react(10),
    "many questions": [
        message for n in range(30) for message in Story(None).ask(f"{n}?").turn(300).answer("!").messages
    ],
    "masked already": Story(filler="[masked: ").ask("?").turn(900).turn(900).turn(900).turn(900).messages,
}


@some_specs
def test_law_8_nothing_is_too_nasty(spec: str) -> None:
    for limit, case in product([1_000, 8_000], NASTY):
        holds_on(NASTY[case], spec, limit, case)


@pytest.mark.parametrize("spec", LONG)
def test_law_8_four_thousand_messages(spec: str) -> None:
    holds_on(react(2_000, 60), spec, 8_000)


def holds_on(history: list[Message], spec: str, limit: int, case: str = "") -> None:
    strategy = build(spec)
    view = prepare(history, strategy, budget(limit, overhead=20))
    repaired = repair(history)
    assert list(view.notes) == repaired.notes, (case, limit)
    assert is_sound(view.messages) == [], (case, limit)
    assert is_faithful(view.messages, repaired.messages) == [], (case, limit)
    assert pending(view.messages) == pending(repaired.messages), (case, limit)
    assert view.tokens <= limit or spec == "none" or spec.endswith("+none"), (case, limit)


@some_specs
def test_law_8_an_overhead_above_the_budget_is_a_budget_error(spec: str) -> None:
    for history in ([], react(3)):
        if spec == "none" or spec.endswith("+none"):
            assert prepare(history, build(spec), budget(100, overhead=200)).tokens > 100
        else:
            with pytest.raises(BudgetError, match="the budget holds 100"):
                prepare(history, build(spec), budget(100, overhead=200))


@some_specs
def test_law_8_a_budget_that_shrinks_in_mid_session_is_kept(spec: str) -> None:
    strategy, before = build(spec), None
    for place, messages in enumerate(calls_of(react40())):
        before = prepare(messages, strategy, budget(8_000 if place < 30 else 2_000), before)
    assert before is not None
    assert before.tokens <= 2_000 or spec == "none" or spec.endswith("+none")


# --- state ------------------------------------------------------------------------------------------------------------


@every_strategy
@given(st.data())
def test_state_saved_and_given_back_in_mid_session_changes_nothing(name: str, data: st.DataObject) -> None:
    spec = data.draw(specs(name))
    history = data.draw(sound_histories(most_turns=40))
    allowed = budget(data.draw(LIMITS), overhead=20)
    calls = list(calls_of(history))
    resume_at = data.draw(st.integers(0, max(0, len(calls) - 1)))
    stayed, resumed = build(spec), build(spec)
    for place, messages in enumerate(calls):
        if place == resume_at:
            leave(stayed)
            state = state_of(resumed)
            resumed = build(spec)
            if state or hasattr(resumed, "state"):
                resumed.state = state  # type: ignore[attr-defined]
        answers = []
        for strategy in (stayed, resumed):
            try:
                answers.append(strategy.prepare(messages, allowed))
            except BudgetError as error:
                answers.append(str(error))  # type: ignore[arg-type]
        assert answers[0] == answers[1]


@some_specs
def test_a_fresh_strategy_sees_the_whole_history(spec: str) -> None:
    history = react40()
    old: Callable[..., list[Message]] = build("sliding-window:window=1").prepare
    old(history, budget())
    view = prepare(history, build(spec), budget())
    assert len(view.fates) == 82
    assert task(view.messages) == history[1]
