"""The loop cut off: whatever fails, wherever it is cancelled, the history is sound and the session goes on."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import is_sound, pending_calls
from tests.support.scripted_loop import Script, agent, call, goes_on, kinds, observations, says
from thimble.agent.errors import BudgetError, ModelError
from thimble.agent.events import Answered, Asked, Prepared, Preparing, Replied, ReplyPiece, ToolReturned
from thimble.agent.loop import run
from thimble.agent.messages import CANCELLED, Message, ToolCall
from thimble.agent.protocols import Delta, Text, Thinking, Usage
from thimble.strategies.sliding_window import SlidingWindow

# --- failures ---------------------------------------------------------------------------------------------------------

FAILURES = [ModelError("the server is gone"), KeyboardInterrupt(), RuntimeError("a bug")]


@pytest.mark.parametrize("error", FAILURES)
@pytest.mark.parametrize("before", [[], [Text("I ")], [Thinking("hm")], [Text("I look."), call(1)]])
@pytest.mark.parametrize("turns", [0, 1])
def test_a_reply_that_fails_is_dropped(error: BaseException, before: list[Delta], turns: int) -> None:
    session = agent(*[[call(7), call(8)]] * turns, [*before, error])
    with pytest.raises(type(error)):
        list(run(session, "?"))
    assert len(session.history) == 2 + 3 * turns
    goes_on(session)


@given(st.lists(st.integers(1, 5), unique=True))
def test_every_open_call_is_closed_whichever_of_its_turn_it_is(returned: list[int]) -> None:
    """Of a damaged journal any results may be left, in any order."""
    session = agent()
    asked = [Message("m1", "system"), Message("m2", "user", "?")]
    turn = Message("m3", "assistant", calls=tuple(map(call, range(1, 6))))
    results = [Message(f"r{number}", "tool", "found", call_id=call(number).id) for number in returned]
    session.state.history = [*asked, turn, *results]
    session.close_calls()
    assert is_sound(session.history) == [] == pending_calls(session.history)
    assert observations(session) == ["found"] * len(returned) + [CANCELLED] * (5 - len(returned))


@pytest.mark.parametrize(("tool", "error"), [("endless", KeyboardInterrupt), ("buggy", ZeroDivisionError)])
def test_an_interrupt_or_a_bug_in_a_tool_leaves_no_call_open(tool: str, error: type[BaseException]) -> None:
    session = agent([call(1), call(2, tool), call(3)])
    with pytest.raises(error):
        list(run(session, "?"))
    assert observations(session) == ["text of a", CANCELLED, CANCELLED]
    goes_on(session)


def test_a_question_that_the_budget_cannot_hold_is_not_taken() -> None:
    session = agent(limit=600, strategy=SlidingWindow())
    with pytest.raises(BudgetError) as caught:
        list(run(session, "word " * 1_000))
    assert caught.value.needed_tokens > caught.value.available_tokens == 600
    assert [message.role for message in session.history] == ["system"]
    goes_on(session)


def test_a_budget_that_breaks_in_the_middle_keeps_what_was_found() -> None:
    large = '{"slug": "' + "a" * 4_000 + '"}'
    session = agent([call(1, arguments=large)], limit=900, strategy=SlidingWindow())
    with pytest.raises(BudgetError):
        list(run(session, "?"))
    assert [message.role for message in session.history] == ["system", "user", "assistant", "tool"]
    assert is_sound(session.history) == []


# --- cancelling -------------------------------------------------------------------------------------------------------

DRAMA = (
    [Thinking("hm"), Text("I "), Text("look."), call(1), call(2, "search_articles"), call(3, "nope"), Usage()],
    [call(4, arguments="{"), call(5)],
    [Text("Almost."), call(6)],
    says("There ", "it is."),
)
LENGTH = len(list(run(agent(*DRAMA), "?")))


@pytest.mark.parametrize("events", range(LENGTH + 1))
def test_an_exchange_can_be_cancelled_at_every_event(events: int) -> None:
    session = agent(*DRAMA)
    exchange = run(session, "?")
    seen = list(islice(exchange, events))
    exchange.close()
    assert kinds(seen) == kinds(list(islice(run(agent(*DRAMA), "?"), events)))
    complete = [event.message for event in seen if isinstance(event, Asked | Replied | ToolReturned)]
    if any(isinstance(event, Answered) for event in seen):
        complete = [replace(message, thinking="") for message in complete]
    left = [message for message in session.history if message.role != "system" and message.content != CANCELLED]
    assert left == complete
    if isinstance(seen[-1] if seen else None, ReplyPiece | Prepared | Preparing | Asked):
        assert session.history[-1] == complete[-1]
    goes_on(session)


@pytest.mark.parametrize("events", range(LENGTH + 1))
def test_an_interrupt_of_the_reader_is_a_cancel(events: int) -> None:
    session = agent(*DRAMA)
    exchange = run(session, "?")
    for _ in islice(exchange, events):
        pass
    if 0 < events < LENGTH:
        with pytest.raises(KeyboardInterrupt):
            exchange.throw(KeyboardInterrupt())
    exchange.close()
    goes_on(session)


@st.composite
def replies(draw: st.DrawFn) -> list[Delta | BaseException]:
    """Any reply: words, thoughts, calls of any tool with any arguments, and maybe a failure in its midst."""
    name = st.sampled_from(["read_article", "search_articles", "read", "buggy", "endless", ""])
    arguments = st.sampled_from(["{}", '{"slug": "a"}', "{", "[]", "", "null"])
    one_call = st.builds(ToolCall, st.sampled_from(["", "x", "y", "z"]), name, arguments)
    delta = st.one_of(st.builds(Text, st.sampled_from(["", "a", "日本"])), st.builds(Thinking, st.just("hm")), one_call)
    reply: list[Delta | BaseException] = list(draw(st.lists(delta, max_size=5)))
    if draw(st.integers(0, 4)) == 0:
        reply.insert(draw(st.integers(0, len(reply))), draw(st.sampled_from(FAILURES)))
    return [*reply, Usage()]


@given(st.lists(replies(), min_size=12, max_size=12), st.integers(0, 60), st.sampled_from([400, 600, 8_000]))
def test_whatever_the_model_does_the_session_goes_on(
    steps: list[list[Delta | BaseException]], close_after: int, limit: int
) -> None:
    session = agent(*steps, strategy=SlidingWindow(), limit=limit, max_turns=5, system="Be brief.")
    for _ in range(2):
        exchange = run(session, "?")
        try:
            for _ in islice(exchange, close_after):
                assert len(session.history) >= 2
        except (ModelError, KeyboardInterrupt, RuntimeError, ZeroDivisionError, BudgetError):
            pass
        finally:
            exchange.close()
        assert [message.call_id for message in session.history if message.role == "tool"] == [
            one.id for message in session.history for one in message.calls
        ]
    session.backend = Script([says("going on")])
    session.state.budget = 10**6
    assert list(run(session, "and now?"))[-1] == Answered("going on", "answered")
