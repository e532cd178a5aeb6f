from __future__ import annotations

from pathlib import Path
from threading import Event

import pytest

from tests.support.histories import TinyCounter
from tests.support.sessions import ask, scripted, tool_call
from thimble.agent.errors import BudgetError
from thimble.agent.events import Prepared
from thimble.commands.forecast import Forecast, forecast_prompt
from thimble.repl.prompt.meter import Meter
from thimble.session.session import Session
from thimble.strategies.table import STRATEGIES


def warm(session: Session) -> Meter:
    meter = Meter(session)
    meter.warm()
    return meter


def text(meter: Meter, draft: str = "", width: int = 200) -> str:
    return "".join(piece for _, piece in meter.pieces(draft, width))


WORDS = "And what does it cost?"
READS = [[tool_call("read_article", n, slug="observation-masking", page=1, section="Open")] for n in range(3)]


@pytest.mark.parametrize("spec", [*STRATEGIES, "observation-masking+sliding-window"])
@pytest.mark.parametrize("budget", [700, 1_500, 8_000])
def test_the_forecast_is_the_view_that_is_sent(spec: str, budget: int) -> None:
    session = scripted(*READS, *["So."] * 9, strategy=spec, budget=budget)
    ask(session)
    requests = len(session.agent.backend.requests)  # type: ignore[attr-defined]
    state = repr(getattr(session.agent.strategy, "state", None))
    promised = forecast_prompt(session, WORDS)
    assert repr(getattr(session.agent.strategy, "state", None)) == state
    assert len(session.agent.backend.requests) == requests, "a forecast asks no model"  # type: ignore[attr-defined]
    if promised.asks:
        return
    if promised.view is None:
        with pytest.raises(BudgetError):
            ask(session, WORDS)
        return
    event = next(event for event in session.ask(WORDS) if isinstance(event, Prepared))
    sent, seen = event.view, promised.view
    assert (seen.tokens, seen.prefill, seen.fates, seen.acted) == (sent.tokens, sent.prefill, sent.fates, sent.acted)
    assert [message.content for message in seen.messages] == [message.content for message in sent.messages]


def test_the_meter_says_what_enter_will_do() -> None:
    session = scripted(*READS, "So.", strategy="observation-masking:window=0,target=0.1")
    ask(session)
    session.agent.state.budget = forecast_prompt(session).tokens + 100
    meter, question = warm(session), ("word " * 200).strip()
    view = forecast_prompt(session, question).view
    assert view is not None
    assert view.acted["masked"]
    meter.pieces(question, 100)
    meter.look(question)
    assert f" · masks {view.acted['masked']} −" in text(meter, question)
    assert f" · prefill {view.prefill:,} · observation-masking" in text(meter, question)


def test_a_thread_of_its_own_follows_what_is_typed() -> None:
    session, drawn = scripted(counter=TinyCounter(exact=False)), Event()
    meter = Meter(session, drawn.set)
    meter.warm()
    before = text(meter)
    assert before.startswith(f"next ▓░░░░░░░ ~{forecast_prompt(session).tokens:,}/4,000 ")
    text(meter, "a question of some words")
    assert drawn.wait(5)
    tokens = forecast_prompt(session, "a question of some words").tokens
    assert f" ~{tokens:,}/4,000 " in text(meter, "a question of some words")


def test_a_look_that_began_before_a_reset_is_not_shown_after_it(monkeypatch: pytest.MonkeyPatch) -> None:
    session = scripted("word " * 400)
    ask(session)
    meter = warm(session)

    def slow(*given: object) -> Forecast:
        found = forecast_prompt(session)
        monkeypatch.undo()
        session.reset()
        meter.refresh()
        return found

    monkeypatch.setattr("thimble.repl.prompt.meter.forecast_prompt", slow)
    meter.look("")
    assert f" {forecast_prompt(session).tokens:,}/4,000 " in text(meter)


def test_a_model_that_would_be_asked_first_is_named() -> None:
    session = scripted(*READS, "So.", strategy="summary-buffer")
    ask(session)
    session.agent.state.budget = forecast_prompt(session).tokens + 100
    meter, question = warm(session), "word " * 200
    meter.pieces(question, 100)
    meter.look(question.strip())
    assert " · asks a model first · " in text(meter, question)


def test_the_meter_says_that_a_question_is_over_the_budget() -> None:
    session = scripted()
    meter, question = warm(session), "word " * 40_000
    text(meter, question)
    meter.look(question.strip())
    assert " OVER · the budget cannot hold it · " in text(meter, question)


def test_a_strategy_of_the_users_own_is_not_run(tmp_path: Path) -> None:
    mine = tmp_path / "mine.py"
    mine.write_text("def prepare(messages, budget):\n    raise SystemExit('it was run')\n")
    assert "% + ? · " in text(warm(scripted(strategy=str(mine))))
