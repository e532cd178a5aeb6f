"""The loop: what it does with a script, event by event, and that nothing brings its history out of order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.estimate import EstimateCounter
from tests.support.histories import TinyCounter, is_sound, words
from tests.support.scripted_loop import Acts, Script, agent, call, goes_on, kinds, observations, says, script
from thimble.agent.errors import ModelError
from thimble.agent.events import (
    Answered,
    Prepared,
    PromptCut,
    Replied,
    ReplyPiece,
    SideCalled,
    ToolCalled,
    ToolReturned,
)
from thimble.agent.foreign import MAX_DEPTH
from thimble.agent.loop import MAX_CALLS, NOT_RUN, run
from thimble.agent.messages import Message, ToolCall
from thimble.agent.prompts import CLOSING_PROMPT, SYSTEM_PROMPT
from thimble.agent.protocols import Delta, Text, Thinking, Usage, Waiting
from thimble.agent.reply import CALL_CHARACTERS
from thimble.agent.side import SideModel
from thimble.strategies.observation_masking import ObservationMasking
from thimble.strategies.spec import make_strategy
from thimble.strategies.table import STRATEGIES

# --- answers ----------------------------------------------------------------------------------------------------------


def test_an_answer() -> None:
    session = agent(says("Forty", " two."))
    events = list(run(session, "What is it?"))
    assert kinds(events) == ["Asked", "Preparing", "Prepared", "ReplyPiece", "ReplyPiece", "Replied", "Answered"]
    assert events[-1] == Answered("Forty two.", "answered")
    assert [(message.role, message.content) for message in session.history] == [
        ("system", SYSTEM_PROMPT),
        ("user", "What is it?"),
        ("assistant", "Forty two."),
    ]
    assert script(session).prompts == [session.history[:2]]
    assert [request.max_tokens for request in script(session).requests] == [1024]
    assert [schema["function"]["name"] for schema in script(session).requests[0].tools] == list(session.tools)


def test_two_exchanges_share_one_history() -> None:
    session = agent(says("one"), says("two"))
    list(run(session, "first"))
    list(run(session, "second"))
    assert [message.content for message in session.history[1:]] == ["first", "one", "second", "two"]
    assert len({message.id for message in session.history}) == 5
    assert session.ledger.exchanges == session.ledger.answered == 2


def test_nothing_happens_before_the_first_event_is_asked_for() -> None:
    session = agent(says("one"))
    run(session, "first").close()
    assert session.history == []


@pytest.mark.parametrize(
    ("reply", "text", "how"),
    [
        ([Text("")], "", "empty"),
        ([Text(" \n")], " \n", "empty"),
        ([], "", "empty"),
        ([Thinking("and so on"), Usage(finish="length")], "", "thought"),
    ],
)
def test_a_reply_without_words_is_named(reply: list[Delta], text: str, how: Any) -> None:
    session = agent(reply)
    assert list(run(session, "?"))[-1] == Answered(text, how)
    goes_on(session)


def test_thinking_is_said_and_kept_apart() -> None:
    session = agent([Thinking("hm, "), Text("yes"), Thinking("maybe"), Usage()])
    events = list(run(session, "?"))
    assert [event for event in events if isinstance(event, ReplyPiece)] == [
        ReplyPiece("thinking", "hm, "),
        ReplyPiece("text", "yes"),
        ReplyPiece("thinking", "maybe"),
    ]
    replied = next(event.message for event in events if isinstance(event, Replied))
    assert (replied.content, replied.thinking) == ("yes", "hm, maybe")
    assert events[-1] == Answered("yes", "answered")


def test_thinking_goes_back_with_its_calls_until_the_question_is_answered() -> None:
    first, second = [Thinking("To b."), call(1)], [Thinking("To c."), call(2)]
    session = agent(first, second, [Thinking("Done."), Text("It is.")], "Yes.")
    for question in ("Is it?", "Really?"):
        list(run(session, question))
    requests = session.backend.requests  # type: ignore[attr-defined]
    sent = [[one.thinking for one in request.messages if one.thinking] for request in requests]
    assert sent == [[], ["To b."], ["To b.", "To c."], []]
    sizes = [len(request.messages) for request in requests]
    assert session.ledger.view
    assert session.ledger.view.cached == session.budget(session.schemas()).size(requests[-1].messages[:2])
    assert sizes == [2, 4, 6, 8]


def test_waiting_and_loading_are_told_and_counted_apart() -> None:
    waits = [Waiting("busy", 2.0), Waiting("loading"), Text("a"), Usage(load_seconds=3.5)]
    session = agent(waits)
    events = list(run(session, "?"))
    assert kinds(events)[3:6] == ["Waiting", "Waiting", "ReplyPiece"]
    (replied,) = [event for event in events if isinstance(event, Replied)]
    assert replied.waited_seconds == replied.seconds < 5.5  # the script did not really wait
    assert session.ledger.calls[-1].seconds == 0
    assert replied.first_token_seconds is not None


def test_a_prompt_that_was_cut_is_told_once_the_reply_is_in() -> None:
    long = "Nobody cuts this in silence. " * 200
    session = agent([Text("What?"), Usage(prompt_tokens=70)])
    session.backend.counter = EstimateCounter()
    events = list(run(session, long))
    (prepared,) = [event for event in events if isinstance(event, Prepared)]
    assert kinds(events)[-3:] == ["Replied", "PromptCut", "Answered"]
    assert events[-2] == PromptCut(1, prepared.view.tokens, 70, exact=False)


def test_the_first_token_is_timed_from_the_question() -> None:
    (replied,) = [event for event in run(agent(says("a", "b")), "?") if isinstance(event, Replied)]
    assert replied.first_token_seconds is not None
    assert 0 <= replied.first_token_seconds <= replied.seconds


def test_the_counter_learns_from_what_was_reported() -> None:
    session = agent(says("a"), [Text("b"), Usage()])
    events = [*run(session, "?"), *run(session, "?")]
    (first, _) = [event.view.tokens for event in events if isinstance(event, Prepared)]
    assert isinstance(session.backend.counter, TinyCounter)
    assert session.backend.counter.calibrated == [(first, 100)]


# --- tools ------------------------------------------------------------------------------------------------------------


def test_a_tool_is_called_and_its_result_read() -> None:
    session = agent([Text("I look."), call(1), Usage()], says("It says so."))
    events = list(run(session, "?"))
    turn = ["Preparing", "Prepared", "ReplyPiece", "Replied"]
    assert kinds(events) == ["Asked", *turn, "ToolCalled", "ToolReturned", *turn, "Answered"]
    (returned,) = [event for event in events if isinstance(event, ToolReturned)]
    assert returned.ok
    assert returned.message is session.history[3]
    assert returned.tokens == TinyCounter().count(returned.message)
    assert returned.message == Message("m4", "tool", "text of a", call_id="c1", name="read_article")
    assert script(session).prompts[1] == session.history[:4]
    assert session.ledger.tool_calls == 1


def test_parallel_calls_run_in_order() -> None:
    session = agent([call(1, arguments='{"slug": "x"}'), call(2, arguments='{"slug": "y"}')], says("Both."))
    events = list(run(session, "?"))
    assert [event.call.id for event in events if isinstance(event, ToolCalled)] == ["c1", "c2"]
    assert observations(session) == ["text of x", "text of y"]
    goes_on(session)


@pytest.mark.parametrize(
    ("made", "observation"),
    [
        (call(1, "search_articles", "{}"), "Error: nothing there"),
        (call(1, "read_artcle"), "Error: there is no tool named 'read_artcle'; did you mean read_article?"),
        (
            call(1, "xyz"),
            "Error: there is no tool named 'xyz'; the tools are read_article, search_articles, buggy, endless",
        ),
        (
            call(1, ""),
            "Error: that call cannot be read: write a tool's name, and its arguments as one JSON object; "
            "the tools are read_article, search_articles, buggy, endless",
        ),
        (call(1, arguments="[1]"), "Error: the arguments must be a JSON object, not list"),
        (call(1, arguments='"a"'), "Error: the arguments must be a JSON object, not str"),
        (call(1, arguments="null"), "Error: the arguments must be a JSON object, not NoneType"),
        (call(1, arguments=""), "text of None"),
        (call(1, arguments='{"slug": "\\ud83d"}'), "text of \ud83d"),
    ],
)
def test_the_model_is_sent_the_result_or_the_error_of_a_call(made: ToolCall, observation: str) -> None:
    session = agent([made], says("I see."))
    events = list(run(session, "?"))
    assert observations(session) == [observation]
    (returned,) = [event for event in events if isinstance(event, ToolReturned)]
    assert returned.ok == (not observation.startswith("Error"))
    assert events[-1] == Answered("I see.", "answered")


@pytest.mark.parametrize(
    "arguments",
    [
        "{",
        '{"slug": }',
        "slug=a",
        "{'slug': 'a'}",
        "\x00",
        "9" * 5000,
        "[" * 100_000,
        '{"slug":' + "[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1) + "}",
    ],
)
def test_arguments_that_are_no_json_are_told_to_the_model(arguments: str) -> None:
    session = agent([call(1, arguments=arguments)], [call(2)], [call(3, arguments=arguments)], says("Sorry."))
    assert list(run(session, "?"))[-1] == Answered("Sorry.", "answered")
    first, fine, last = observations(session)
    assert first.startswith("Error: the arguments ")
    assert fine == "text of a"
    assert last == first
    assert len(first) < 200


ONE = call(1)


SPELT = ['{"slug": "a", "page": 1}', '{"page":1,"slug":"a"}', '{ "slug": "a", "page": 1 }', '{"slug":"a","page":1}']


@pytest.mark.parametrize(
    "made",
    [
        [call(number) for number in range(4)],
        [call(1) for _ in range(4)],
        [ONE] * 4,
        [call(number, arguments=text) for number, text in enumerate(SPELT)],
    ],
    ids=["ids", "id", "object", "spelt"],
)
def test_the_third_same_call_is_refused(made: list[ToolCall]) -> None:
    session = agent(*[[one] for one in made], says("Enough."))
    list(run(session, "?"))
    assert [text.startswith("Error: you have made this very call twice") for text in observations(session)] == [
        False,
        False,
        True,
        True,
    ]
    reader = session.tools["read_article"]
    assert isinstance(reader, Acts)
    assert len(reader.seen) == 2


@pytest.mark.parametrize("spelt", ['{"slug": "a"}', '{"slug":"a"}'])
def test_equal_calls_of_one_reply_are_run_once_and_each_has_a_result(spelt: str) -> None:
    twice = [call(number, arguments=spelt if number % 2 else '{"slug": "a"}') for number in range(MAX_CALLS)]
    session = agent([*twice, call(99, arguments='{"slug": "b"}')], says("Enough."))
    session.state.budget = 100_000
    list(run(session, "?"))
    same = ["Error: not run: it is the same call as one above"] * (MAX_CALLS - 1)
    assert observations(session)[:MAX_CALLS] == ["text of a", *same]
    goes_on(session)


def test_another_question_may_make_the_same_calls_again() -> None:
    session = agent([call(1)], [call(2)], says("One."), [call(3)], [call(4)], says("Two."))
    list(run(session, "?"))
    list(run(session, "?"))
    assert observations(session) == ["text of a"] * 4


@pytest.mark.parametrize("id", ["", "call_0"])
def test_calls_that_a_server_names_badly_leave_a_sound_history(id: str) -> None:
    calls = [ToolCall(id, "read_article", f'{{"slug": "{slug}"}}') for slug in "ab"]
    session = agent(calls, calls[:1], says("Done."))
    list(run(session, "?"))
    assert is_sound(session.history) == []
    assert session.ledger.view is not None
    assert session.ledger.view.notes == ()
    assert observations(session) == ["text of a", "text of b", "text of a"]


def test_ids_of_a_resumed_history_with_gaps_are_not_given_again() -> None:
    session = agent(says("Yes."))
    session.state.history = [Message("m1", "system", "s"), Message("m2", "user", "?"), Message("m4", "assistant", "!")]
    list(run(session, "and?"))
    assert is_sound(session.history) == []


# --- the turn limit ---------------------------------------------------------------------------------------------------


def test_a_model_that_never_stops_calling_is_made_to_answer() -> None:
    steps = [[call(number, arguments=f'{{"slug": "{number}"}}')] for number in range(1, 4)]
    session = agent(*steps, [Text("So be it."), call(9)], max_turns=4)
    events = list(run(session, "?"))
    assert events[-1] == Answered("So be it.", "turn-limit")
    assert [len(request.tools) for request in script(session).requests] == [4, 4, 4, 4]
    assert [request.expects for request in script(session).requests] == ["turn", "turn", "turn", "answer"]
    assert observations(session)[-1] == f"Error: {NOT_RUN}"
    assert session.tools["read_article"].seen == [{"slug": f"{number}"} for number in range(1, 4)]  # type: ignore[attr-defined]
    assert (script(session).prompts[-1][-1].role, script(session).prompts[-1][-1].content) == ("user", CLOSING_PROMPT)
    assert CLOSING_PROMPT not in [message.content for message in session.history]
    assert kinds(events[-5:]) == ["ReplyPiece", "Replied", "ToolCalled", "ToolReturned", "Answered"]
    goes_on(session)


@given(st.integers(1, 6), st.integers(0, 70))
def test_the_closing_turn_keeps_what_the_server_has_cached(turns: int, calls: int) -> None:
    """Only the message that asks for the answer is new, and whatever the model calls then is answered, not run."""
    steps = [[call(number, arguments=f'{{"slug": "{number}"}}')] for number in range(turns)]
    last = [Text("So."), *(call(100 + number, arguments='{"slug": "late"}') for number in range(calls))]
    session = agent(*steps, last, max_turns=turns + 1)
    script(session).renders_tools = True
    *before, closing = [event.view for event in run(session, "?") if isinstance(event, Prepared)]
    sizes = [session.budget(session.schemas()).count(message) for message in closing.messages]
    assert closing.warm
    assert closing.overhead == before[-1].overhead > 0
    assert closing.cached == closing.tokens - sum(sizes[len(before[-1].messages) :])
    usages = [one.usage.cached_tokens for one in session.ledger.calls]
    assert usages[-1] == closing.cached
    assert observations(session)[turns:] == [f"Error: {NOT_RUN}"] * calls
    assert {"slug": "late"} not in session.tools["read_article"].seen  # type: ignore[attr-defined]
    goes_on(session)


# --- with every strategy ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", [*STRATEGIES, "observation-masking+sliding-window"])
def test_forty_steps_with_every_strategy(spec: str) -> None:
    """And what the view foretells of the server's cache is what a server with a cache reports."""
    steps = [[Text(f"Step {n}."), call(n, arguments=f'{{"slug": "{n}"}}')] for n in range(40)]
    side = SideModel(Script([[Text(f"Summary {n}.")] for n in range(40)]))
    side.backend.model = "aside"
    session = agent(*steps, "Done.", strategy=make_strategy(spec, side), strategy_name=spec, side=side, max_turns=60)
    session.tools = {"read_article": Acts("read_article", lambda arguments: words(600, str(arguments["slug"])))}
    events = list(run(session, "What do the forty say?"))
    assert events[-1] == Answered("Done.", "answered")
    assert is_sound(session.history) == []
    assert len(session.history) == 83
    views = [event.view for event in events if isinstance(event, Prepared)]
    usages = [event.usage for event in events if isinstance(event, Replied)]
    assert len(views) == 41
    assert all(view.notes == () for view in views)
    assert spec == "none" or all(view.tokens <= 8_000 for view in views)
    assert [usage.prompt_tokens for usage in usages] == [view.tokens for view in views]
    assert [usage.cached_tokens for usage in usages] == [view.cached for view in views]
    asked = [event for event in events if isinstance(event, SideCalled)]
    too_few = spec == "thrifty"  # forty steps, for a summary of its own
    assert bool(asked) == (hasattr(session.strategy, "model") and not too_few)
    assert len(session.ledger.calls) == 41 + len(asked)


# --- swapping ---------------------------------------------------------------------------------------------------------


def test_strategy_backend_and_limit_can_be_swapped_between_exchanges() -> None:
    turns = [[call(number, arguments=f'{{"slug": "{"s" * 800}{number}"}}')] for number in range(6)]
    session = agent(*turns, says("One."))
    list(run(session, "?"))
    whole = list(session.history)

    session.strategy, session.state.strategy, session.state.budget = ObservationMasking(), "observation-masking", 2_000
    session.backend = Script([says("Two.")])
    events = list(run(session, "and?"))
    (prepared,) = [event for event in events if isinstance(event, Prepared)]
    assert prepared.strategy == "observation-masking"
    assert prepared.view.limit == 2_000 >= prepared.view.tokens
    assert len(prepared.view.fates) == len(whole) + 1
    assert "masked" in prepared.view.fates
    assert session.history[: len(whole)] == whole
    assert [one.strategy for one in session.ledger.calls] == ["none"] * 7 + ["observation-masking"]


@pytest.mark.parametrize("calls", [1, MAX_CALLS, MAX_CALLS + 3])
def test_of_many_calls_the_first_are_run_and_each_other_gets_a_result_that_says_so(calls: int) -> None:
    session = agent([call(place, arguments=f'{{"slug": "{place}"}}') for place in range(calls)], says("done"))
    session.state.budget = 100_000
    assert list(run(session, "read all"))[-1] == Answered("done", "answered")
    told = observations(session)
    run_ = min(calls, MAX_CALLS)
    assert told == [f"text of {place}" for place in range(run_)] + [
        f"Error: not run: only the first {MAX_CALLS} calls of a reply are run"
    ] * (calls - run_)
    goes_on(session)


def test_a_call_of_more_characters_than_can_be_meant_is_an_error() -> None:
    session = agent([call(1, arguments="x" * (CALL_CHARACTERS + 1))])
    with pytest.raises(ModelError, match="100,000 characters"):
        list(run(session, "read"))
    goes_on(session)
