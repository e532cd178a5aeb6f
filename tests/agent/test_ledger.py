"""The ledger: every sum in it is a sum over events; what is unknown stays unknown, what is estimated an estimate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.histories import TinyCounter, budget, react40
from tests.support.scripted_loop import Script, agent, call, says
from thimble.agent.agent import Agent
from thimble.agent.budget import Budget
from thimble.agent.errors import BudgetError, ModelError
from thimble.agent.events import (
    Answered,
    Asked,
    Event,
    Prepared,
    Preparing,
    PromptCut,
    Replied,
    SideCalled,
    ToolReturned,
)
from thimble.agent.ledger import Amount, Call, Ledger
from thimble.agent.loop import run
from thimble.agent.messages import Message
from thimble.agent.prefix_cache import LEAST_CALLS
from thimble.agent.protocols import Strategy, Text, Thinking, Usage
from thimble.agent.side import SideModel
from thimble.agent.view import measure_view
from thimble.session import figures
from thimble.session.totals import add_up

TOKENS = st.one_of(st.none(), st.integers(0, 10_000))
AMOUNTS = st.builds(Amount, TOKENS, st.booleans())
CALLS = st.builds(
    Call,
    exchange=st.integers(1, 3),
    purpose=st.sampled_from(["answer", "summary"]),
    strategy=st.sampled_from(["none", "hybrid"]),
    limit=st.just(8_000),
    prompt=AMOUNTS,
    cached=AMOUNTS,
    output=AMOUNTS,
    seconds=st.floats(0, 100),
    raw_prompt=st.integers(0, 9_999),
    raw_prefill=st.integers(0, 9_999),
)


def summed(amounts: Sequence[Amount]) -> tuple[int | None, bool | None]:
    """Tokens and exactness of a sum; an unknown sum is neither exact nor not."""
    known = [amount.tokens for amount in amounts if amount.tokens is not None]
    if len(known) < len(amounts):
        return None, None
    return sum(known), all(amount.exact for amount in amounts)


@given(st.lists(CALLS, max_size=8))
def test_totals_are_sums(calls: list[Call]) -> None:
    total = add_up(iter(calls))
    assert (total.calls, total.turns) == (len(calls), len([one for one in calls if one.purpose == "answer"]))
    answers = [(one.prompt.tokens or 0) - one.limit for one in calls if one.purpose == "answer"]
    assert (total.over, total.most_over) == (sum(over > 0 for over in answers), max([0, *answers]))
    for name in ("prompt", "cached", "output", "prefill"):
        amount = getattr(total, name)
        tokens, exact = summed([getattr(one, name) for one in calls])
        assert amount.tokens == tokens
        assert exact in (None, amount.exact)
    assert total.seconds == sum(one.seconds for one in calls)
    assert total.raw_prompt == sum(one.raw_prompt for one in calls)
    assert total.raw_prefill == sum(one.raw_prefill for one in calls)


@given(CALLS)
def test_prefill_is_the_prompt_without_what_was_cached(one: Call) -> None:
    if one.prompt.tokens is None or one.cached.tokens is None:
        assert one.prefill.tokens is None
    else:
        assert one.prefill == Amount(one.prompt.tokens - one.cached.tokens, one.prompt.exact and one.cached.exact)


USAGES = st.builds(Usage, prompt_tokens=TOKENS, cached_tokens=TOKENS, output_tokens=TOKENS)


@st.composite
def sessions(draw: st.DrawFn) -> list[Event]:
    """The events of a session as the loop would make them."""
    events: list[Event] = []
    history = react40()
    for _ in range(draw(st.integers(1, 4))):
        events.append(Asked(history[1]))
        for turn in range(1, draw(st.integers(1, 4))):
            view = measure_view(history, history[: draw(st.integers(2, 82))], budget())
            exact = draw(st.booleans())
            sides = draw(
                st.lists(st.builds(SideCalled, st.just("summary"), st.just(7), st.booleans(), USAGES, st.just(0.5)))
            )
            events += [Preparing(turn, "hybrid", 8_000), *sides, Prepared(turn, "hybrid", "script/tiny", view, exact)]
            if draw(st.booleans()):
                events.append(Replied(turn, history[2], draw(USAGES), 1.5, None))
                events.append(ToolReturned(call(1), history[3], 604, True, 0.25, draw(st.booleans())))
        if draw(st.booleans()):
            events.append(Answered("yes", "answered"))
    return events


@given(sessions())
def test_the_ledger_is_a_fold_over_the_events(events: list[Event]) -> None:
    ledger = Ledger()
    for event in events:
        ledger.add(event)
    replies = [event for event in events if isinstance(event, Replied)]
    sides = [event for event in events if isinstance(event, SideCalled)]
    returned = [event for event in events if isinstance(event, ToolReturned)]
    prepared = [event for event in events if isinstance(event, Prepared)]
    assert ledger.exchanges == len([event for event in events if isinstance(event, Asked)])
    assert ledger.answered == len([event for event in events if isinstance(event, Answered)])
    assert (ledger.tool_calls, ledger.tool_seconds) == (len(returned), 0.25 * len(returned))
    assert ledger.view is (prepared[-1].view if prepared else None)
    total = add_up(ledger.calls)
    assert (total.calls, total.turns) == (len(replies) + len(sides), len(replies))
    assert total.seconds == 1.5 * len(replies) + 0.5 * len(sides)
    numbers = range(1, ledger.exchanges + 1)
    assert [one for number in numbers for one in ledger.of_exchange(number)] == ledger.calls
    assert total.output.tokens == summed([Amount(event.usage.output_tokens) for event in [*replies, *sides]])[0]
    reported = sorted(
        event.usage.cached_tokens for event in [*replies, *sides] if event.usage.cached_tokens is not None
    )
    assert sorted(one.cached.tokens for one in ledger.calls if one.cached.exact and one.cached.tokens is not None) == (
        reported
    )


# --- what is booked ---------------------------------------------------------------------------------------------------


def test_reported_tokens_are_booked() -> None:
    session = agent([Text("a"), Usage(prompt_tokens=100, cached_tokens=60, output_tokens=5)])
    list(run(session, "?"))
    (booked,) = session.ledger.calls
    assert (booked.prompt, booked.cached, booked.output) == (Amount(100), Amount(60), Amount(5))
    assert booked.prefill == Amount(40)
    assert (booked.exchange, booked.purpose, booked.strategy, booked.limit) == (1, "answer", "none", 8_000)


def test_thinking_is_its_share_of_the_output() -> None:
    session = agent(
        [Thinking("hmm" * 10), Text("answer" * 5), Usage(output_tokens=44)], [Text("a"), Usage(output_tokens=5)]
    )
    for _ in range(2):
        list(run(session, "?"))
    assert [booked.thinking for booked in session.ledger.calls] == [22, 0]


@pytest.mark.parametrize("exact", [True, False])
def test_tokens_that_are_not_reported_are_counted_or_unknown(exact: bool) -> None:
    session = agent()
    session.backend = Script([[Text("a"), Usage()]], TinyCounter(exact=exact))
    list(run(session, "?"))
    (booked,) = session.ledger.calls
    assert session.ledger.view is not None
    assert booked.prompt == Amount(session.ledger.view.tokens, exact)
    assert booked.output.tokens is None
    assert booked.cached == Amount(session.ledger.view.cached, exact=False)
    assert booked.prefill == Amount(session.ledger.view.prefill, exact=False)


@given(USAGES, st.lists(st.floats(1e-3, 1e3), max_size=6), st.integers(0, 10_000))
def test_the_cached_figure_is_reported_or_expected_or_unknown(usage: Usage, seconds: list[float], had: int) -> None:
    ledger = Ledger(preparing=Preparing(1, "none", 8_000))
    for number in range(len(seconds) + 1):
        took = replace(usage, prefill_seconds=seconds[number] if number < len(seconds) else None)
        ledger.add(SideCalled("summary", 7_000, True, took, 1.0, shared=had))
        booked = ledger.calls[-1]
        if usage.cached_tokens is not None:
            assert booked.cached == Amount(usage.cached_tokens)
            continue
        assert booked.prompt.tokens is not None
        expected = Amount(min(had, booked.prompt.tokens), exact=False)
        trusted = number < LEAST_CALLS or took.prefill_seconds is None
        assert booked.cached == expected or (not trusted and booked.cached == Amount(None))


def test_a_cache_that_was_lost_is_unknown_and_a_prompt_that_was_cut_too() -> None:
    def took(prompt: int, seconds: float) -> Usage:
        return Usage(prompt_tokens=prompt, output_tokens=5, prefill_seconds=seconds)

    ledger = Ledger(preparing=Preparing(1, "none", 8_000))
    for prompt, seconds, had in [(1_000, 1.0, 0), (2_000, 1.0, 1_000), (2_500, 0.5, 2_000), (3_000, 3.0, 2_500)]:
        ledger.add(SideCalled("summary", prompt, True, took(prompt, seconds), seconds, shared=had))
    assert [figures.format_amount(one.cached) for one in ledger.calls] == ["~0", "~1,000", "~2,000", "?"]
    ledger.add(SideCalled("summary", 3_500, True, took(3_500, 0.5), 0.5, shared=3_000))
    ledger.add(PromptCut(1, 3_500, 900, True))
    assert ledger.calls[-1].cached == Amount(None)


def test_a_server_that_loaded_the_model_had_nothing_cached() -> None:
    """The seconds of loading are those of a real Ollama: with the model at hand, and anew for another context."""
    ledger = Ledger(preparing=Preparing(1, "none", 8_000))
    for loading, prefill in ((1.53, 1.0), (0.0009, 0.1), (1.52, 1.0), (0.015, 0.1)):
        usage = Usage(prompt_tokens=1_000, output_tokens=5, load_seconds=loading, prefill_seconds=prefill)
        ledger.add(SideCalled("summary", 1_000, True, usage, 2.0, shared=900))
    assert [figures.format_amount(one.cached) for one in ledger.calls] == ["~0", "~900", "~0", "~900"]
    assert [one.timed.computed for one in ledger.calls if one.timed] == [1_000, 100, 1_000, 100]


def test_raw_is_what_the_whole_history_would_have_cost() -> None:
    session = agent([call(1)], [call(2)], "Done.")
    events = list(run(session, "?"))
    views = [event.view for event in events if isinstance(event, Prepared)]
    booked = session.ledger.calls
    assert [one.raw_prompt for one in booked] == [view.history_tokens for view in views]
    assert [one.raw_prefill for one in booked] == [
        views[0].history_tokens,
        views[1].history_tokens - views[0].history_tokens,
        views[2].history_tokens - views[1].history_tokens,
    ]


def test_a_strategy_that_does_nothing_is_not_credited_for_what_the_server_holds_of_an_earlier_history() -> None:
    session = agent([call(1)], "One.", [call(1)], "Two.")
    events = [*run(session, "?")]
    del session.history[1:]
    events += run(session, "?")
    views = [event.view for event in events if isinstance(event, Prepared)]
    assert views[2].prefill < views[2].tokens
    assert [view.prefill for view in views] == [one.raw_prefill for one in session.ledger.calls]


# --- calls that strategies make ---------------------------------------------------------------------------------------


@dataclass
class Asking(Strategy):
    """A strategy that asks its model at every call."""

    model: SideModel
    too_much: bool = False
    asked: list[str] = field(default_factory=list)

    def prepare(self, messages: Sequence[Message], budget: Budget) -> list[Message]:
        try:
            self.asked.append(self.model.ask([Message("a", "user", "Sum up.")], "summary", 20))
        except ModelError:
            self.asked.append("")
        if self.too_much:
            raise BudgetError(2, 1)
        return list(messages)


def asking(*side_steps: list[Text | Usage | BaseException], steps: int = 3) -> tuple[Agent, Asking]:
    model = SideModel(Script(list(side_steps)))
    strategy = Asking(model)
    session = agent(*[says("Done.")] * steps, strategy=strategy, strategy_name="asking", side=model)
    return session, strategy


def test_a_call_of_a_strategy_is_an_event_of_its_own() -> None:
    session, strategy = asking([Text("short"), Usage(prompt_tokens=30, cached_tokens=0, output_tokens=3)])
    events = list(run(session, "?"))
    assert [type(event).__name__ for event in events[:4]] == ["Asked", "Preparing", "SideCalled", "Prepared"]
    assert strategy.asked == ["short"]
    side, turn = session.ledger.calls
    assert (side.purpose, side.exchange, side.prompt, side.output) == ("summary", 1, Amount(30), Amount(3))
    assert (turn.purpose, turn.raw_prefill) == ("answer", turn.raw_prompt)
    assert "short" not in [message.content for message in session.history]
    assert add_up(session.ledger.calls).turns == 1


def test_a_call_of_a_strategy_just_swapped_in_is_booked_on_it() -> None:
    session = agent(says("One."), says("Two."))
    list(run(session, "?"))
    model = SideModel(Script([[Text("short")]]))
    session.strategy, session.state.strategy, session.side, session.state.budget = Asking(model), "asking", model, 5_000
    list(run(session, "?"))
    assert [(one.purpose, one.strategy, one.limit) for one in session.ledger.calls] == [
        ("answer", "none", 8_000),
        ("summary", "asking", 5_000),
        ("answer", "asking", 5_000),
    ]


def test_a_failed_call_of_a_strategy_is_booked() -> None:
    session, _ = asking([Text("sh"), ModelError("the server is gone")])
    events = list(run(session, "?"))
    (side,) = [event for event in events if isinstance(event, SideCalled)]
    assert side.error == "the server is gone"
    assert events[-1] == Answered("Done.", "answered")
    assert session.ledger.calls[0].purpose == "summary"
    assert session.ledger.calls[0].output.tokens is None


def test_a_call_that_was_interrupted_is_booked_on_its_own_exchange() -> None:
    session, _ = asking([Text("sh"), KeyboardInterrupt()], [Text("short")])
    with pytest.raises(KeyboardInterrupt):
        list(run(session, "?"))
    assert [one.purpose for one in session.ledger.of_exchange(1)] == ["summary"]
    list(run(session, "?"))
    assert [one.purpose for one in session.ledger.of_exchange(2)] == ["summary", "answer"]
