"""The setting --tidy: each result is sent in its smallest form, whatever the strategy, and nothing else changes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.records import RECORDS
from tests.support.sessions import Paper, ask, scripted, tool_call
from thimble.agent.errors import UsageError
from thimble.agent.messages import LOSSLESS, Message
from thimble.repl.cli.recordings import load, settled
from thimble.repl.commands.table import run_command
from thimble.session.forecast import forecast
from thimble.session.journal.folder import new_path, reopened
from thimble.session.journal.journal import Journal
from thimble.session.session import Session
from thimble.session.settings import Settings
from thimble.strategies.table import STRATEGIES
from thimble.strategies.tidy import Tidied
from thimble.tools.schema import tool

ISSUES = RECORDS["60 issues"][:20]


def fetch(what: str) -> str:
    """Fetch something."""
    return json.dumps(ISSUES, indent=2)


def looked(*what: str, **settings: object) -> Session:
    """A session that has fetched these things."""
    calls = [tool_call("fetch", number, what=one) for number, one in enumerate(what, 1)]
    session = scripted(*calls, "Done.", "And done.", **{"budget": 20_000, **settings})
    session.agent.tools = {**session.agent.tools, "fetch": tool(fetch)}
    ask(session, "What is there?")
    return session


def sent(session: Session) -> list[str]:
    """The results in the newest prompt."""
    view = session.agent.ledger.view
    assert view
    return [message.content for message in view.messages if message.role == "tool"]


@pytest.mark.parametrize("spec", [*STRATEGIES, "tidy+none", "observation-masking+tidy+dedup"])
def test_every_strategy_gets_results_tidied_and_no_tool_more(spec: str) -> None:
    on, off = looked("issues", strategy=spec), looked("issues", strategy=spec, tidy=False)
    view = on.agent.ledger.view
    assert view
    assert view.fates[3] == "tidied"
    assert on.agent.history[3].content == fetch("issues")
    assert on.agent.schemas() == off.agent.schemas()
    assert on.spec == spec
    whole = sent(off)[0] == fetch("issues")
    assert whole == ("tidy" not in spec)
    assert sent(looked("issues", strategy="tidy", tidy=False)) == sent(on)


def test_it_is_seen_and_its_reason_told() -> None:
    session = looked("issues")
    paper = Paper(100, drawn=False)
    for line in ("/context", "/why 4", "/stats", "/compare"):
        run_command(session, line, paper.console)
    assert "4; who: fetch; fate: tidied; " in paper.text
    assert (
        "message 4 (fetch), tidied, 1,549 → 331 tokens: tidy made it 331 tokens (its JSON as tables, nothing left out)."
        in paper.text
    )
    assert "tidy; the last: 1,218; all: 1,218; calls: 1 of 2" in paper.text
    assert "fates: 1 tidied" in paper.text


def test_a_bulky_result_is_still_moved_or_masked() -> None:
    for spec in ("offload:share=0.01", "observation-masking:when=always,window=0"):
        session = looked("issues", "issues", strategy=spec)
        assert all(len(text) < 600 for text in sent(session)[:1])


def test_a_strategy_of_the_users_own_sees_the_tidied_history(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def prepare(messages, budget):\n    return messages\n")
    session = looked("issues", strategy=str(path))
    assert sent(session) == sent(looked("issues"))
    assert forecast(session, "And?", foreign=True).view


def test_forks_swaps_and_forecasts_are_under_the_same_setting() -> None:
    for on in (True, False):
        session = looked("issues", strategy="none", tidy=on)
        for strategy in (session.fork("hybrid").strategy, session.fork().strategy):
            assert isinstance(strategy, Tidied) == on
        seen = forecast(session, "And?")
        assert seen.view
        assert ("tidied" in seen.view.fates) == on
        session.use_strategy("sliding-window")
        ask(session, "And?")
        assert ("JSON as tables" in sent(session)[0]) == on


@pytest.mark.parametrize("on", [True, False])
def test_a_session_goes_on_as_it_was(tmp_path: Path, on: bool) -> None:
    journal = Journal(new_path(tmp_path))
    session = Session(Settings(backend="reader", tidy=on), journal)
    ask(session)
    session.leave()
    assert journal.path
    settings, again, _ = reopened(Settings(tidy=not on), journal.path)
    again.close()
    assert settings.tidy is on


def test_it_is_swapped_in_a_session_and_kept(tmp_path: Path) -> None:
    journal = Journal(new_path(tmp_path))
    session = Session(Settings(backend="reader", budget=20_000, strategy="none"), journal)
    paper = Paper(100, drawn=False)

    def tidied() -> bool:
        ask(session, "Read the file records/boxes-may.json")
        return isinstance(session.agent.strategy, Tidied) and "JSON as tables" in sent(session)[0]

    assert tidied()
    for line, on in (("/tidy OFF", False), ("/fork", False), ("/strategy sliding-window", False), ("/reset", False)):
        run_command(session, line, paper.console)
        assert tidied() is session.agent.state.tidy is on
    assert isinstance(session.fork("none").strategy, Tidied) is False
    run_command(session, "/tree 1", paper.console)
    assert tidied() is session.agent.state.tidy is False
    run_command(session, "/undo 3", paper.console)
    assert session.agent.state.tidy
    assert "Tidy goes back too: from off to on." in paper.text
    run_command(session, "/tidy off", paper.console)
    run_command(session, "/tidy", paper.console)
    assert "Tidy is off. Change it: /tidy on" in paper.text
    run_command(session, "/tidy on", paper.console)
    assert "The next prompt has tidy on. The strategy starts again from the full history." in paper.text
    run_command(session, "/tidy off", paper.console)
    run_command(session, "/tidy off", paper.console)
    assert "Tidy is off already." in paper.text
    session.leave()
    assert journal.path
    settings, again, saved = reopened(Settings(), journal.path)
    resumed = Session(settings, again, saved)
    assert not isinstance(resumed.agent.strategy, Tidied)
    assert not resumed.agent.state.tidy
    resumed.leave()
    asked = Settings(tidy=True, origins={"tidy": "flag --tidy"})
    settings, again, saved = reopened(asked, journal.path)
    resumed = Session(settings, again, saved)
    assert resumed.agent.state.tidy
    assert isinstance(resumed.agent.strategy, Tidied)
    resumed.leave()


@pytest.mark.parametrize(("tidy", "same"), [(True, True), (False, False)])
def test_resumed_with_the_other_the_strategy_starts_fresh_as_in_a_session(
    tidy: bool, same: bool, tmp_path: Path
) -> None:
    journal = Journal(new_path(tmp_path))
    session = Session(Settings(backend="reader", budget=1500, strategy="progressive-summary"), journal)
    fresh = session.agent.strategy.state  # type: ignore[attr-defined]
    for _ in range(3):
        ask(session, "Read the article observation-masking")
    was = session.agent.strategy.state  # type: ignore[attr-defined]
    assert was != fresh
    session.leave()
    assert journal.path
    settings, again, saved = reopened(Settings(tidy=tidy, origins={"tidy": "flag --tidy"}), journal.path)
    resumed = Session(settings, again, saved)
    assert resumed.agent.strategy.state == (was if same else fresh)  # type: ignore[attr-defined]
    resumed.leave()


def test_what_it_cannot_be_is_answered_with_what_it_can() -> None:
    with pytest.raises(UsageError) as caught:
        run_command(looked("issues"), "/tidy of", Paper(100).console)
    assert (caught.value.what, caught.value.fix) == ("/tidy cannot be 'of'", "did you mean off? it takes on or off")


def test_a_cassette_is_played_as_it_was_recorded() -> None:
    assert settled(Settings(tidy=False), load("reader/none", Path())).tidy


def test_a_copy_of_a_tidied_result_is_not_whole() -> None:
    tidy = Message("m", "tool", "x", ref=LOSSLESS)
    assert tidy.rewritten("[gone]", "why").ref == ""
