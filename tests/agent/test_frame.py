"""The frame around a view: worked examples, a nudge, the question again, the word on the last turn."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import TinyCounter
from tests.support.scripted import Scripted, Step
from tests.support.sessions import scripted, tool_call
from thimble.agent.events import Answered, Event, Prepared, ReplyDiscarded
from thimble.agent.ledger import Call
from thimble.agent.loop import LONG_TOKENS, run
from thimble.agent.prompts import NUDGE_MESSAGE, QUESTION_AGAIN, is_framing
from thimble.agent.protocols import Text, Usage
from thimble.agent.view import View
from thimble.session.session import Session
from thimble.tools.examples import examples


def framed(*steps: Step, budget: int = 8_000, strategy: str = "none") -> Session:
    """A session whose model has worked examples."""
    session = scripted(*steps, budget=budget, strategy=strategy)
    session.agent.examples = tuple(examples())
    return session


def ask(session: Session, question: str = "What is it?") -> list[Event]:
    """The events of an exchange of this very agent: the session would equip it for its model."""
    return [*run(session.agent, question)]


def views(events: Sequence[Event]) -> list[View]:
    return [event.view for event in events if isinstance(event, Prepared)]


READ = tool_call("read_article", slug="observation-masking")


def test_worked_examples_stand_behind_the_system_message_and_not_in_the_history() -> None:
    session = framed(READ, "It hides results [observation-masking].")
    for view in views(ask(session)):
        assert view.messages[0].role == "system"
        assert [message.id for message in view.messages[1:17]] == [message.id for message in examples()]
        assert [view.messages[at] for at in view.inserted][:16] == [*examples()]
        assert all(message.why for message in (view.messages[at] for at in view.inserted))
    assert not any(map(is_framing, session.agent.history))


def test_worked_examples_count_and_stay_within_the_budget() -> None:
    free = views(ask(framed(READ, "yes", budget=8_000)))[-1]
    tight = views(ask(framed(READ, "yes", budget=2_200, strategy="observation-masking")))[-1]
    counter = TinyCounter()
    assert free.tokens == free.overhead + sum(map(counter.count, free.messages))
    assert tight.tokens <= 2_200 < free.tokens


def test_worked_examples_are_cached_from_the_second_call_on_and_are_not_an_edit() -> None:
    first, second = views(ask(framed(READ, "yes")))
    assert second.cached >= sum(map(TinyCounter().count, examples()))
    assert [first.edited, second.edited] == [False, False]
    assert first.saved == 0


def test_the_question_comes_again_behind_a_long_result_only() -> None:
    session = framed(READ, "yes", tool_call("get_notes"), "no")
    (_, long), (_, short) = (views(ask(session, question)) for question in ("What is it?", "Any notes?"))
    again = long.messages[-1]
    assert (again.content, again.why) == (
        QUESTION_AGAIN.format("What is it?"),
        "the question again, after a long result",
    )
    assert TinyCounter().count(long.messages[-2]) > LONG_TOKENS > TinyCounter().count(short.messages[-1])
    assert short.messages[-1].role == "tool"


STEPS = [READ, "It hides results [observation-masking].", "From what I know.", tool_call("get_notes"), "So it is."]


@given(st.booleans(), st.booleans(), st.integers(1, 3), st.lists(st.sampled_from(STEPS), min_size=12, max_size=12))
def test_beside_the_whole_history_none_costs_the_same_in_every_frame(
    has_examples: bool, nudges: bool, max_turns: int, steps: list[Step]
) -> None:
    session = scripted(*steps, strategy="none", budget=100_000, max_turns=max_turns)
    agent = session.agent
    agent.examples, agent.nudges = tuple(examples()) if has_examples else (), nudges
    for question in ("What is it?", "And why?", "Is it so?"):
        ask(session, question)
    for call in agent.ledger.calls:
        assert (call.raw_prompt, call.raw_prefill) == (call.prompt.tokens, call.prompt.tokens - view_cached(call))


def view_cached(call: Call) -> int:
    """The tokens of a prompt that the server still had, as the view has it."""
    assert call.shared is not None
    return call.shared


@pytest.mark.parametrize("reported", [1_000, 9_000])
def test_another_count_of_the_server_makes_no_difference(reported: int) -> None:
    session = framed([Text("So."), Usage(prompt_tokens=reported, output_tokens=5)])
    ask(session)
    (call,) = session.agent.ledger.calls
    assert (call.raw_prompt, call.prompt.tokens) == (reported, reported)


def test_examples_count_beside_what_a_strategy_took_out() -> None:
    session = framed(READ, "So.", READ, "So.", budget=2_400, strategy="sliding-window")
    for question in ("What is it?", "And why?"):
        ask(session, question)
    view, call = session.agent.ledger.view, session.agent.ledger.calls[-1]
    assert view is not None
    assert sum(view.taken.values()) > 0
    around = sum(map(TinyCounter().count, [view.messages[at] for at in view.inserted if is_framing(view.messages[at])]))
    assert call.raw_prompt == view.history_tokens + around


# ---- the nudge ----


def nudged(*steps: Step, **rest: int) -> tuple[Session, Scripted, list[Event]]:
    session = scripted(*steps, **rest)
    session.agent.nudges = True
    entered: list[Event] = []
    record = session.agent.record
    session.agent.record = lambda event: (entered.append(event), record and record(event))  # type: ignore[assignment,arg-type,func-returns-value]
    backend = session.agent.backend
    assert isinstance(backend, Scripted)
    return session, backend, entered


def test_an_answer_that_rests_on_nothing_is_asked_for_once_more() -> None:
    session, model, entered = nudged("I will use search_articles.", READ, "It hides results [observation-masking].")
    *_, answered = ask(session)
    assert answered == Answered("It hides results [observation-masking].", "answered")
    assert isinstance(answered, Answered)
    assert not answered.from_memory
    said, nudge = model.requests[1].messages[-2:]
    assert (said.role, said.content, nudge) == ("assistant", "I will use search_articles.", NUDGE_MESSAGE)
    assert NUDGE_MESSAGE not in model.requests[2].messages
    (aside,) = [event for event in entered if isinstance(event, ReplyDiscarded)]
    assert aside.message not in session.agent.history
    assert [message.role for message in session.agent.history] == ["system", "user", "assistant", "tool", "assistant"]


def test_an_answer_is_asked_for_only_once_and_then_it_is_from_memory() -> None:
    session, model, _ = nudged("From what I know.", "From what I know, still.")
    *_, answered = ask(session)
    assert isinstance(answered, Answered)
    assert (answered.text, answered.from_memory) == ("From what I know, still.", True)
    model.assert_done()


def test_an_answer_that_cites_what_was_read_before_is_not_asked_for_again() -> None:
    cited = "As said, it hides results [observation-masking]."
    session, model, entered = nudged(READ, cited, cited)
    ask(session)
    ask(session, "Say it again.")
    model.assert_done()
    assert not any(isinstance(event, ReplyDiscarded) for event in entered)
