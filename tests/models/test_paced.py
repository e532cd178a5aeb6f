"""A paced reader: it says what it says without a pace, sleeps as long as the machine would, and tells these seconds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.estimate import EstimateCounter
from thimble.agent.messages import Message
from thimble.agent.protocols import Delta, Text, Usage, Waiting
from thimble.models import paced
from thimble.models.hardware import HARDWARE, Hardware, fit_hardware
from thimble.models.reader import Reader
from thimble.session.session import Session
from thimble.session.settings import Settings

ASKED = Message("u", "user", "What is a lighthouse?")
READ = Message("t", "tool", "# L\nslug: l · page 1 of 1 · 9 words\n\nA lighthouse is a tower with a lamp.", call_id="c")
VIEWS = [[ASKED], [ASKED, READ], [ASKED, READ, Message("v", "user", "What is a tower?")]]
TOOL = {"type": "function", "function": {"name": "search_articles"}}
SECONDS = st.floats(0, 2)
MACHINES = st.builds(Hardware, st.floats(10, 1e5), SECONDS, st.floats(0, 1e-3), SECONDS)


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses of paced models, which take no time here."""
    pauses: list[float] = []
    monkeypatch.setattr(paced, "sleep_or_halt", pauses.append)
    return pauses


def replies(reader: Reader) -> Iterator[list[Delta]]:
    for view in VIEWS:
        yield list(reader.stream(view, [TOOL]))


@settings(suppress_health_check=["function_scoped_fixture"])
@given(MACHINES)
def test_it_says_the_same_and_takes_the_seconds_of_the_machine(slept: list[float], on: Hardware) -> None:
    load = on.load_seconds
    plain, slow = Reader(EstimateCounter()), Reader(EstimateCounter(), pace=on)
    for said, said_slowly in zip(replies(plain), paced_replies(slow, slept), strict=True):
        (deltas, pauses), bare = said_slowly, said[-1]
        assert isinstance(bare, Usage)
        assert [delta for delta in deltas[:-1] if not isinstance(delta, Waiting)] == said[:-1]
        assert [isinstance(delta, Waiting) for delta in deltas] == [*([True] if load else []), *[False] * len(said)]
        usage = deltas[-1]
        assert isinstance(usage, Usage)
        prompt, cached, output = bare.prompt_tokens or 0, bare.cached_tokens or 0, bare.output_tokens or 0
        assert (usage.prompt_tokens, usage.cached_tokens, usage.output_tokens) == (prompt, cached, output)
        assert usage.load_seconds == load
        assert usage.prefill_seconds == pytest.approx((prompt - cached) / on.prefill)
        tokens = (on.token_seconds + on.slope * (prompt + written + 0.5) for written in range(output))
        assert usage.decode_seconds == pytest.approx(sum(tokens))
        assert sum(pauses) == pytest.approx(load + (usage.prefill_seconds or 0) + (usage.decode_seconds or 0))
        load = 0


def paced_replies(reader: Reader, slept: list[float]) -> Iterator[tuple[list[Delta], list[float]]]:
    """Each reply, and the pauses in it."""
    for view in VIEWS:
        slept.clear()
        yield list(reader.stream(view, [TOOL])), [*slept]


def test_the_cached_prefix_costs_no_prefill(slept: list[float]) -> None:
    reader = Reader(EstimateCounter(), pace=HARDWARE["a100-32b"])
    first, again = (list(reader.stream(VIEWS[1], []))[-1] for _ in range(2))
    assert isinstance(first, Usage)
    assert isinstance(again, Usage)
    assert (first.cached_tokens, again.prefill_seconds) == (0, pytest.approx(1 / 3_000))


def test_it_loads_once_even_if_nobody_waits_for_the_first_reply(slept: list[float]) -> None:
    reader = Reader(EstimateCounter(), pace=HARDWARE["laptop-7b"])
    first = reader.stream(VIEWS[1], [])
    assert next(first) == Waiting("loading the model")
    first.close()
    assert isinstance(next(reader.stream(VIEWS[1], [])), Text)


def test_the_calls_of_a_session_give_the_machine_away(slept: list[float]) -> None:
    """A whole session at a pace: the notice that says so, and a fit to its ledger that finds the machine again."""
    session = Session(Settings(backend="reader", strategy="none", pace="a100-4b"))
    for question in ("Read the article about context windows", "How does prompt caching save money?"):
        list(session.ask(question))
    notice = "The reader sleeps at the pace of a100-4b: its seconds are those of a described machine."
    assert notice in session.take_notices()
    found, made = fit_hardware(session.agent.ledger.calls), HARDWARE["a100-4b"]
    assert found is not None
    assert found.prefill == pytest.approx(made.prefill)
    assert found.token_seconds == pytest.approx(made.token_seconds)
    assert found.slope == pytest.approx(made.slope)
    assert sum(slept) > 1
