"""The sub-agent: a task is done in a context of its own, every call of it is accounted for, and a brief comes back."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import TinyCounter, is_sound
from tests.support.scripted_loop import Acts, Step, agent, call, goes_on, kinds, observations, says, script
from thimble.agent.agent import Agent
from thimble.agent.errors import ModelError
from thimble.agent.events import Answered, SideCalled, ToolReturned
from thimble.agent.loop import run
from thimble.agent.messages import CANCELLED, Message
from thimble.agent.protocols import Text, Usage
from thimble.session.delegate import MAX_BRIEF_TOKENS, cut_to_tokens, write_brief
from thimble.session.totals import add_up
from thimble.strategies.none import NoManagement
from thimble.strategies.observation_masking import ObservationMasking


class Delegating(NoManagement):
    """A strategy that brings the tool."""

    tools = ("delegate",)


def delegating(*steps: Step, **settings: Any) -> Agent:
    """An agent over a script that may delegate; the script is the sub-agent's too."""
    one = agent(*steps, strategy=settings.pop("strategy", Delegating()), **settings)
    one.tools = {**one.tools, "save_note": Acts("save_note", lambda arguments: "saved")}

    def act(arguments: Mapping[str, Any]) -> str:
        return write_brief(one, str(arguments["task"]), ObservationMasking())

    one.on_demand = {"delegate": Acts("delegate", act), "recall": Acts("recall", lambda arguments: "no")}
    return one


TASK = call(1, "delegate", '{"task": "Read a."}')
READ = [call(11), Usage(prompt_tokens=200, cached_tokens=50, output_tokens=20)]


def names(schemas: Any) -> list[str]:
    return [schema["function"]["name"] for schema in schemas]


def test_a_task_is_done_in_a_fresh_context_and_only_the_brief_comes_back() -> None:
    session = delegating([Text("I hand it over."), TASK], READ, says("a says b [a]"), says("It is b."))
    events = list(run(session, "What is it?"))
    assert events[-1] == Answered("It is b.", "answered")
    assert observations(session) == ["a says b [a]"]
    first, inner, last_inner, last = script(session).requests
    assert names(first.tools) == names(last.tools) == [*session.tools, "delegate"]
    assert names(inner.tools) == [name for name in session.tools if name != "save_note"]
    assert [message.role for message in inner.messages] == ["system", "user"]
    assert inner.messages[1].content == "Read a."
    assert "brief" in inner.messages[0].content
    assert [message.content for message in last_inner.messages[2:]] == ["", "text of a"]
    assert is_sound(session.history) == []


def test_every_call_of_it_is_an_event_and_in_the_ledger() -> None:
    session = delegating([TASK], READ, says("a says b"), says("done"))
    events = list(run(session, "?"))
    assert kinds(events)[3:8] == ["Replied", "ToolCalled", "SideCalled", "SideCalled", "ToolReturned"]
    sides = [event for event in events if isinstance(event, SideCalled)]
    assert {(event.purpose, str(event.model), event.error) for event in sides} == {
        ("delegate", "scripted/scripted", "")
    }
    assert [event.usage.prompt_tokens for event in sides] == [200, 100]
    spent = add_up(session.ledger.calls)
    assert (spent.calls, spent.turns) == (4, 2)
    assert [one.purpose for one in session.ledger.calls] == ["answer", "delegate", "delegate", "answer"]
    assert session.ledger.exchanges == 1


def test_views_of_the_sub_agent_keep_to_the_budget() -> None:
    """Its own strategy masks what it read, under the budget of the agent."""
    large = Acts("read_article", lambda arguments: "word " * 1_000)
    reads = [[call(n, arguments=f'{{"slug": "s{n}"}}'), Usage()] for n in range(6)]
    session = delegating([TASK], *reads, says("brief"), says("done"), limit=4_000)
    session.tools = {**session.tools, "read_article": large}
    list(run(session, "?"))
    inner = script(session).requests[1:-1]
    counter = TinyCounter()
    sizes = [counter.overhead(one.tools) + sum(map(counter.count, one.messages)) for one in inner]
    assert max(sizes) <= 4_000
    assert any(message.content.startswith("[masked") for one in inner for message in one.messages)


# --- what can go wrong ------------------------------------------------------------------------------------------------


def test_a_task_that_the_budget_cannot_hold_is_told_to_the_model() -> None:
    session = delegating([call(1, "delegate", f'{{"task": "{"word " * 1_000}"}}')], says("done"), limit=3_000)
    session.strategy = type("Loose", (Delegating,), {"fitted": False})()
    session.tools, session.state.budget = {}, 900
    events = list(run(session, "?"))
    (returned,) = [event for event in events if isinstance(event, ToolReturned)]
    assert not returned.ok
    assert "the budget holds 900: give a shorter task" in returned.message.content


def test_an_empty_answer_of_the_sub_agent_goes_to_the_model() -> None:
    session = delegating([TASK], says(" \n"), says("done"))
    list(run(session, "?"))
    assert "empty answer" in observations(session)[0]
    assert [one.purpose for one in session.ledger.calls] == ["answer", "delegate", "answer"]


FAILURES = [ModelError("the server is gone"), KeyboardInterrupt(), RuntimeError("a bug")]


@pytest.mark.parametrize("error", FAILURES)
@pytest.mark.parametrize("before", [[], [Text("I ")], [call(11)]])
@pytest.mark.parametrize("reads", [0, 1])
def test_a_failure_in_its_midst_ends_the_exchange_and_leaves_the_history_sound(
    error: BaseException, before: list[Any], reads: int
) -> None:
    session = delegating([TASK, call(2)], *[READ] * reads, [*before, error])
    with pytest.raises(type(error)):
        list(run(session, "?"))
    assert observations(session) == [CANCELLED, CANCELLED]
    sides = [one for one in session.ledger.calls if one.purpose == "delegate"]
    assert len(sides) == reads + 1
    goes_on(session)


@pytest.mark.parametrize("events", range(12))
def test_an_exchange_that_delegates_can_be_cancelled_at_every_event(events: int) -> None:
    session = delegating([Text("I hand it over."), TASK, call(2)], READ, says("a says b"), says("done"))
    exchange = run(session, "?")
    seen = list(islice(exchange, events))
    exchange.close()
    made = sum(request.messages[1].content == "Read a." for request in script(session).requests)
    assert sum(one.purpose == "delegate" for one in session.ledger.calls) == made in (0, 2)
    assert len(seen) == events
    goes_on(session)


# --- its size ---------------------------------------------------------------------------------------------------------


def tokens(text: str) -> int:
    return TinyCounter().count(Message("", "tool", text)) - TinyCounter().count(Message("", "tool"))


def test_a_brief_that_is_too_long_is_cut_and_says_so() -> None:
    session = delegating([TASK], says("".join(f"{number:04} word " for number in range(1_500))), says("done"))
    list(run(session, "?"))
    (text,) = observations(session)
    assert tokens(text) <= MAX_BRIEF_TOKENS
    assert text.endswith("word\n[cut: the brief had 3,749 tokens]")


@given(st.text(alphabet="ab \n日", max_size=40).map(lambda text: text * 40), st.integers(20, 300))
def test_whatever_is_cut_is_within_the_limit_and_a_beginning_of_the_whole(text: str, most: int) -> None:
    shown = cut_to_tokens(text, most, TinyCounter())
    assert tokens(shown) <= most
    if tokens(text) <= most:
        assert shown == text
    else:
        head, _, mark = shown.rpartition("\n")
        assert text.startswith(head)
        assert mark.startswith("[cut: ")
        assert tokens(shown) >= most // 2 - 2
