"""The frame around a view: worked examples, a nudge, the question again, the word on the last turn."""

from __future__ import annotations

from collections.abc import Sequence

from tests.support.histories import TinyCounter
from tests.support.scripted import Scripted, Step
from tests.support.sessions import scripted, tool_call
from thimble.agent.events import Answered, Event, Prepared, Replied, SetAside
from thimble.agent.frame import LONG_TOKENS, NUDGE_MESSAGE, is_framing
from thimble.agent.loop import run
from thimble.agent.messages import Message
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
        assert [message.id for message in view.messages[1:13]] == [message.id for message in examples()]
        assert [view.messages[at] for at in view.inserted][:12] == [*examples()]
        assert all(message.why for message in (view.messages[at] for at in view.inserted))
    assert not any(map(is_framing, session.agent.history))


def test_they_count_and_stay_within_the_budget() -> None:
    free = views(ask(framed(READ, "yes", budget=8_000)))[-1]
    tight = views(ask(framed(READ, "yes", budget=2_200, strategy="observation-masking")))[-1]
    counter = TinyCounter()
    assert free.tokens == free.overhead + sum(map(counter.count, free.messages))
    assert tight.tokens <= 2_200 < free.tokens


def test_they_are_cached_from_the_second_call_on_and_are_no_edit() -> None:
    first, second = views(ask(framed(READ, "yes")))
    assert second.cached >= sum(map(TinyCounter().count, examples()))
    assert [first.edited, second.edited] == [False, False]
    assert first.saved == 0


def test_the_question_comes_again_behind_a_long_result_only() -> None:
    session = framed(READ, "yes", tool_call("get_notes"), "no")
    (_, long), (_, short) = (views(ask(session, question)) for question in ("What is it?", "Any notes?"))
    again = long.messages[-1]
    assert (again.content, again.why) == ("Question: What is it?", "the question again, behind a long result")
    assert TinyCounter().count(long.messages[-2]) > LONG_TOKENS > TinyCounter().count(short.messages[-1])
    assert short.messages[-1].role == "tool"


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
    (aside,) = [event for event in entered if isinstance(event, SetAside)]
    assert aside.message not in session.agent.history
    assert [message.role for message in session.agent.history] == ["system", "user", "assistant", "tool", "assistant"]


def test_it_is_asked_for_only_once_and_then_it_is_from_memory() -> None:
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
    assert not any(isinstance(event, SetAside) for event in entered)


def test_the_one_turn_that_is_allowed_is_no_nudge() -> None:
    session, model, _ = nudged("yes", max_turns=1)
    ask(session)
    model.assert_done()


def test_what_was_set_aside_is_paid_for_all_the_same() -> None:
    session, _, _ = nudged("From what I know.", "Still.")
    events = ask(session)
    assert len([event for event in events if isinstance(event, Replied)]) == len(session.agent.ledger.calls) == 2


def test_a_message_of_the_history_is_no_frame() -> None:
    assert not is_framing(Message("m2", "user", "?"))
