"""The laws that all strategies share (docs/reference/laws.md), on histories built to be nasty.

A law of the strategy alone is tried on its bare view; a law of the whole road (`agent.view.prepare`: repair, the
strategy, the laws, fit) on the view at its end. A broken law raises AssertionError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from itertools import product
from math import ceil

from hypothesis import strategies as st

from thimble.agent.budget import Budget
from thimble.agent.errors import BudgetError
from thimble.agent.fit import fit
from thimble.agent.messages import Message
from thimble.agent.protocols import Strategy
from thimble.agent.repair import repair
from thimble.agent.turns import task
from thimble.agent.view import View, prepare
from thimble.strategies.laws.histories import (
    LIMITS,
    Story,
    TinyCounter,
    budget,
    calls_of,
    is_faithful,
    is_sound,
    nasty_histories,
    pending_calls,
    react40,
    react_history,
    sound_histories,
)
from thimble.strategies.laws.subjects import acting_share, is_exempt, state_of, stop_background_calls
from thimble.strategies.recital import without_recital

Make = Callable[[], Strategy]
"""Makes a fresh strategy, always the same."""
Subject = Callable[[st.DataObject], Make]
"""The subject of a law: draws the parameters of a strategy, and the answers of its model."""
Histories = st.SearchStrategy[list[Message]]


@dataclass
class Scaled(TinyCounter):
    """A counter that a server has corrected."""

    scale: float = 1.0

    def count(self, message: Message) -> int:
        """Tokens of one message."""
        return ceil(super().count(message) * self.scale)


def draw_case(subject: Subject, data: st.DataObject, histories: Histories) -> tuple[Strategy, list[Message], Budget]:
    """A strategy, a sound history for it and a budget."""
    make = subject(data)
    history = repair(data.draw(histories, label="history")).messages
    return make(), history, budget(data.draw(LIMITS, label="limit"), overhead=20)


def bare_views(
    strategy: Strategy, history: Sequence[Message], allowed: Budget
) -> Iterator[tuple[list[Message], Sequence[Message]]]:
    """The history and the strategy's bare view at each call, and at the end; calls with a BudgetError are left out."""
    for messages in [*calls_of(history), list(history)]:
        try:
            yield messages, strategy.prepare(messages, allowed)
        except BudgetError:
            continue


def views(strategy: Strategy, history: Sequence[Message], allowed: Budget) -> Iterator[tuple[list[Message], View]]:
    """The same with the view at the end of the whole road."""
    before = None
    for messages in [*calls_of(history), list(history)]:
        try:
            before = prepare(messages, strategy, allowed, before)
        except BudgetError:
            continue
        yield messages, before


def is_fitted(strategy: Strategy) -> bool:
    """Whether its views are made to fit; those of `none` are not."""
    return getattr(strategy, "fitted", True)


# --- on histories that Hypothesis makes -------------------------------------------------------------------------------


def law_1_pairs_whole(subject: Subject, data: st.DataObject) -> None:
    """Calls and results stay together."""
    strategy, history, allowed = draw_case(subject, data, nasty_histories())
    for messages, view in bare_views(strategy, history, allowed):
        assert is_sound(view) == []
        assert pending_calls(view) == pending_calls(messages)


def law_1_pairs_whole_on_the_road(subject: Subject, data: st.DataObject) -> None:
    """The same, and nothing had to be repaired."""
    strategy, history, allowed = draw_case(subject, data, nasty_histories())
    for messages, view in views(strategy, history, allowed):
        assert is_sound(view.messages) == []
        assert pending_calls(view.messages) == pending_calls(messages)
        assert view.notes == ()


def law_2_system_task_and_question_stay(subject: Subject, data: st.DataObject) -> None:
    """Byte for byte, in the order of the history."""
    strategy, history, allowed = draw_case(subject, data, nasty_histories())
    for messages, view in bare_views(strategy, history, allowed):
        assert is_faithful(view, messages) == []


def law_2_system_task_and_question_stay_on_the_road(subject: Subject, data: st.DataObject) -> None:
    """Also when the view was made to fit."""
    strategy, history, allowed = draw_case(subject, data, nasty_histories())
    for messages, view in views(strategy, history, allowed):
        assert is_faithful(view.messages, messages, fitted=True) == []


def law_3_within_budget(subject: Subject, data: st.DataObject) -> None:
    """And the view is not larger than the history."""
    strategy, history, allowed = draw_case(subject, data, nasty_histories())
    for messages, view in views(strategy, history, allowed):
        assert view.tokens == allowed.size(view.messages)
        assert view.history_tokens == allowed.size(messages)
        assert view.tokens <= view.history_tokens or is_exempt(3, strategy, messages, allowed)
        if is_fitted(strategy):
            assert view.tokens <= allowed.limit


def law_3_within_budget_while_budget_and_counting_change(subject: Subject, data: st.DataObject) -> None:
    """The user sets another budget, the counter learns from the server, another model takes over."""
    strategy, history, _ = draw_case(subject, data, sound_histories(most_turns=40))
    changes = data.draw(st.lists(st.tuples(LIMITS, st.floats(0.5, 2.0)), min_size=1, max_size=5), label="changes")
    before = None
    for place, messages in enumerate(calls_of(history)):
        limit, scale = changes[place % len(changes)]
        allowed = Budget(limit, Scaled(scale=scale), 20)
        try:
            before = prepare(messages, strategy, allowed, before)
        except BudgetError:
            continue
        assert before.notes == ()
        assert is_sound(before.messages) == []
        assert is_faithful(before.messages, messages, fitted=True) == []
        assert before.tokens <= limit or not is_fitted(strategy)


def law_3_no_budget_error_that_fit_would_not_raise(subject: Subject, data: st.DataObject) -> None:
    """If the least view fits, the strategy's view does."""
    strategy, history, allowed = draw_case(subject, data, nasty_histories())
    for messages in calls_of(history):
        try:
            fit(messages, allowed)
        except BudgetError:
            continue
        assert prepare(messages, strategy, allowed).tokens > 0


def law_3_nothing_becomes_longer(subject: Subject, data: st.DataObject) -> None:
    """No message, and not the whole."""
    strategy, history, allowed = draw_case(subject, data, nasty_histories())
    whole = {message.id: message for message in history}
    for messages, view in bare_views(strategy, history, allowed):
        if is_exempt(3, strategy, messages, allowed):
            continue
        assert allowed.size(view) <= allowed.size(messages)
        for message in view:
            if message.id in whole and message.content != whole[message.id].content:
                assert message.same(replace(whole[message.id], content=message.content))
                assert allowed.count(message) < allowed.count(whole[message.id])
                assert message.why


def law_4_input_not_mutated(subject: Subject, data: st.DataObject) -> None:
    """The history is unchanged."""
    strategy, history, allowed = draw_case(subject, data, nasty_histories())
    before = deepcopy(history)
    for messages, view in bare_views(strategy, history, allowed):
        assert messages == before[: len(messages)]
        assert view is not messages
    assert history == before


def law_4_same_input_same_view(subject: Subject, data: st.DataObject) -> None:
    """Two fresh strategies make the same view."""
    make = subject(data)
    history = data.draw(sound_histories(), label="history")
    allowed = budget(data.draw(LIMITS, label="limit"), overhead=20)
    one, other = (list(bare_views(make(), history, allowed)) for _ in range(2))
    assert one == other


def law_4_asked_again_it_says_the_same(subject: Subject, data: st.DataObject) -> None:
    """The same strategy, on the same history."""
    strategy, history, allowed = draw_case(subject, data, sound_histories())
    for messages, view in bare_views(strategy, history, allowed):
        assert is_exempt(4, strategy, messages, allowed) or strategy.prepare(messages, allowed) == view


def law_5_identity_while_everything_fits(subject: Subject, data: st.DataObject) -> None:
    """Then the view is the history."""
    strategy, history, _ = draw_case(subject, data, nasty_histories())
    roomy = budget(ceil(budget().size(history) / acting_share(strategy)))
    for messages, view in bare_views(strategy, history, roomy):
        if not is_exempt(5, strategy, messages, roomy):
            assert view == messages


def law_6_prefix_survives_between_edits(subject: Subject, data: st.DataObject) -> None:
    """A strategy whose state is unchanged has only appended to its view."""
    strategy, history, allowed = draw_case(subject, data, sound_histories(most_turns=40))
    before: Sequence[Message] = []
    state = state_of(strategy)
    for messages, view in bare_views(strategy, history, allowed):
        if not is_exempt(6, strategy, messages, allowed) and state_of(strategy) == state:
            assert view[: len(before)] == before
        before, state = without_recital(view, messages), state_of(strategy)


def state_saved_and_given_back_in_mid_session_changes_nothing(subject: Subject, data: st.DataObject) -> None:
    """A resumed session continues as if it had never stopped."""
    make = subject(data)
    history = data.draw(sound_histories(most_turns=40), label="history")
    allowed = budget(data.draw(LIMITS, label="limit"), overhead=20)
    calls = list(calls_of(history))
    resume_at = data.draw(st.integers(0, max(0, len(calls) - 1)), label="resumed at call")
    stayed, resumed = make(), make()
    for place, messages in enumerate(calls):
        if place == resume_at:
            stop_background_calls(stayed)
            state = state_of(resumed)
            resumed = make()
            if state or hasattr(resumed, "state"):
                resumed.state = state
        answers: list[object] = []
        for strategy in (stayed, resumed):
            try:
                answers.append(strategy.prepare(messages, allowed))
            except BudgetError as error:
                answers.append(str(error))
        assert answers[0] == answers[1]


TRIED: Sequence[Callable[[Subject, st.DataObject], None]] = (
    law_1_pairs_whole,
    law_1_pairs_whole_on_the_road,
    law_2_system_task_and_question_stay,
    law_2_system_task_and_question_stay_on_the_road,
    law_3_within_budget,
    law_3_within_budget_while_budget_and_counting_change,
    law_3_no_budget_error_that_fit_would_not_raise,
    law_3_nothing_becomes_longer,
    law_4_input_not_mutated,
    law_4_same_input_same_view,
    law_4_asked_again_it_says_the_same,
    law_5_identity_while_everything_fits,
    law_6_prefix_survives_between_edits,
    state_saved_and_given_back_in_mid_session_changes_nothing,
)
"""The laws that Hypothesis tries."""

# --- on histories that are nasty by hand ------------------------------------------------------------------------------


def without_ids(history: list[Message]) -> list[Message]:
    """The same with calls and results that have no ids."""
    calls = [tuple(replace(call, id="") for call in message.calls) for message in history]
    return [replace(message, calls=made, call_id="") for message, made in zip(history, calls, strict=True)]


NASTY: dict[str, list[Message]] = {
    "nothing": [],
    "a system message": Story().messages,
    "a question": Story().ask("?").messages,
    "no system message": Story(None).ask("?").turn(900).turn(900).messages,
    "no user message": Story().turn(900).turn(900).turn(900, pending=1).messages,
    "empty contents": [replace(message, content="") for message in react_history(20)],
    "no contents": [replace(message, content=None) for message in react_history(20)],  # type: ignore[arg-type]
    "some contents missing": [
        replace(message, content=None) if place % 5 == 3 else message  # type: ignore[arg-type]
        for place, message in enumerate(react_history(20))
    ],
    "one huge result": Story().ask("?").turn(60_000).messages,
    "a huge result among others": Story().ask("?").turn(600).turn(60_000, 5).turn(600).turn(600).messages,
    "many parallel calls": Story().ask("?").turn(*[400] * 12).turn(*[400] * 12).messages,
    "calls without ids": without_ids(react_history(20, at_once=3)),
    "pending": Story().ask("?").turn(900).turn(900).turn(900, 900, pending=2).messages,
    "half pending": Story().ask("?").turn(900).turn(900).turn(900, 900, pending=1).messages,
    "reversed": react40()[::-1],
    "results without calls": [message for message in react_history(20) if not message.calls],
    "calls without results": [message for message in react_history(20) if message.role != "tool"],
    "doubled": react_history(10) + react_history(10),
    "many questions": [
        message for n in range(30) for message in Story(None).ask(f"{n}?").turn(300).answer("!").messages
    ],
    "masked already": Story(filler="[masked: ").ask("?").turn(900).turn(900).turn(900).turn(900).messages,
}


def law_8_nothing_is_too_nasty(make: Make) -> None:
    """No results, no words, no ids, no order."""
    for limit, name in product([1_000, 8_000], NASTY):
        _holds_on(NASTY[name], make(), limit, name)


def law_8_four_thousand_messages(make: Make) -> None:
    """A long session."""
    _holds_on(react_history(2_000, 60), make(), 8_000)


def _holds_on(history: list[Message], strategy: Strategy, limit: int, name: str = "") -> None:
    view = prepare(history, strategy, budget(limit, overhead=20))
    repaired = repair(history)
    assert list(view.notes) == repaired.notes, (name, limit)
    assert is_sound(view.messages) == [], (name, limit)
    assert is_faithful(view.messages, repaired.messages, fitted=True) == [], (name, limit)
    assert pending_calls(view.messages) == pending_calls(repaired.messages), (name, limit)
    assert view.tokens <= limit or not is_fitted(strategy), (name, limit)


def law_8_an_overhead_above_the_budget_is_a_budget_error(make: Make) -> None:
    """Tool schemas alone are too large."""
    for history in ([], react_history(3)):
        strategy, error = make(), ""
        try:
            assert prepare(history, strategy, budget(100, overhead=200)).tokens > 100
        except BudgetError as raised:
            error = str(raised)
        assert ("the budget holds 100" in error) == is_fitted(strategy)


def law_8_a_budget_that_shrinks_in_mid_session_is_kept(make: Make) -> None:
    """From 8,000 tokens to 2,000."""
    strategy, before = make(), None
    for place, messages in enumerate(calls_of(react40())):
        before = prepare(messages, strategy, budget(8_000 if place < 30 else 2_000), before)
    assert before is not None
    assert before.tokens <= 2_000 or not is_fitted(strategy)


def a_fresh_strategy_sees_the_whole_history(make: Make) -> None:
    """Whatever another one has dropped."""
    history = react40()
    view = prepare(history, make(), budget())
    assert len(view.fates) == 82
    assert task(view.messages) == [history[1]]


BY_HAND: Sequence[Callable[[Make], None]] = (
    law_8_nothing_is_too_nasty,
    law_8_four_thousand_messages,
    law_8_an_overhead_above_the_budget_is_a_budget_error,
    law_8_a_budget_that_shrinks_in_mid_session_is_kept,
    a_fresh_strategy_sees_the_whole_history,
)
"""The laws with one case each."""
