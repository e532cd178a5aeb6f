from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from agent.errors import UsageError
from agent.messages import Message
from repl.forecast import forecast
from repl.meter import Meter, typed
from repl.session import Session, open_session
from repl.settings import Settings
from strategies import STRATEGIES
from tests.histories import TinyCounter
from tests.repl.sessions import ask, scripted, tool_call


def warm(session: Session) -> Meter:
    meter = Meter(session)
    meter.warm()
    return meter


METER = warm(scripted(strategy="sliding-window+hybrid"))


def text(meter: Meter, draft: str = "", width: int = 200) -> str:
    return "".join(piece for _, piece in meter.pieces(draft, width))


def test_before_it_is_warm_nothing_is_known() -> None:
    assert text(Meter(scripted())) == "ctx … · observation-masking"


@pytest.mark.parametrize("spec", [*STRATEGIES, "observation-masking+sliding-window"])
@pytest.mark.parametrize("budget", [700, 1_500, 8_000])
def test_what_is_promised_is_what_is_sent(spec: str, budget: int) -> None:
    reads = [[tool_call("read_article", n, slug="observation-masking", page=1, section="Open")] for n in range(3)]
    session = scripted(*reads, *["So."] * 9, strategy=spec, budget=budget)
    ask(session)
    requests = len(session.agent.backend.requests)  # type: ignore[attr-defined]
    state = repr(getattr(session.agent.strategy, "state", None))
    promised, words = forecast(session), "And what does it cost?"
    expected = promised.tokens + typed(session, words)
    assert repr(getattr(session.agent.strategy, "state", None)) == state
    assert len(session.agent.backend.requests) == requests, "a preview asks no model"  # type: ignore[attr-defined]
    if promised.settled and expected <= budget:
        ask(session, words)
        view = session.agent.ledger.view
        assert view is not None
        assert view.tokens == expected


@given(st.text(max_size=60), st.integers(20, 120))
def test_it_never_wraps(draft: str, width: int) -> None:
    assert cell_len(text(METER, draft, width)) <= max(width, 48)


def test_what_is_typed_is_added() -> None:
    session = scripted(counter=TinyCounter(exact=False))
    meter, words = warm(session), "a question of some words"
    assert f" + {typed(session, words)} · observation-masking · scripted" in text(meter, words)
    assert " + " not in text(meter, "/strategy hybrid")
    assert text(meter).startswith(f"ctx ░░░░░░░░ ~{forecast(session).tokens:,}/8,000 ")


def test_long_drafts_are_counted_by_their_beginning() -> None:
    session = scripted()
    exact = session.agent.backend.counter.count(Message("x", "user", "word " * 40_000))
    assert typed(session, "word " * 40_000) == pytest.approx(exact, rel=0.02)


def test_over_the_budget_is_said_in_words() -> None:
    session = scripted("So.", strategy="none", budget=500)
    ask(session, "word " * 1_000)
    assert " OVER · " in text(warm(session))


def test_exchanges_are_counted() -> None:
    session = scripted("So.")
    ask(session)
    assert text(warm(session)).endswith(" · scripted · 1 exchange")


def test_a_session_that_cannot_work_is_told(tmp_path: Path) -> None:
    meter = warm(open_session(Settings(backend="reader", corpus=tmp_path)))
    assert isinstance(meter.error, UsageError)
    assert text(meter).startswith("ctx …")
