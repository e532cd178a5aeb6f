"""`tidy` joined to a strategy: each result is sent in its smallest form, and a forecast says what it would save."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.records import RECORDS
from tests.support.sessions import Paper, ask, scripted, tool_call
from thimble.agent.errors import UsageError
from thimble.agent.messages import LOSSLESS, Message
from thimble.commands.forecast import forecast_prompt
from thimble.repl.commands.table import run_command
from thimble.session.session import Session
from thimble.session.settings import resolve_settings
from thimble.strategies.table import STRATEGIES
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


@pytest.mark.parametrize("spec", [*STRATEGIES, "observation-masking+dedup"])
def test_every_strategy_gets_results_tidied_and_no_tool_more(spec: str) -> None:
    joined, alone = looked("issues", strategy=f"tidy+{spec}"), looked("issues", strategy=spec)
    view = joined.agent.ledger.view
    assert view
    assert view.fates[3] == "tidied"
    assert joined.agent.history[3].content == fetch("issues")
    assert joined.agent.schemas() == alone.agent.schemas()
    assert sent(joined) == sent(looked("issues", strategy="tidy"))
    assert (sent(alone)[0] == fetch("issues")) == (spec != "tidy")


def test_it_is_seen_and_its_reason_told() -> None:
    session = looked("issues", strategy="tidy+observation-masking")
    paper = Paper(100, drawn=False)
    for line in ("/context", "/why 4", "/stats all", "/compare"):
        run_command(session, line, paper.console)
    assert "4; who: fetch; fate: tidied; " in paper.text
    assert (
        "message 4 (fetch), tidied, 1,549 → 331 tokens: tidy made it 331 tokens (its JSON as tables, nothing left out)."
        in paper.text
    )
    assert "tidy; the last: 1,218; all: 1,218; calls: 1 of 2" in paper.text
    assert "fates: 1 tidied" in paper.text


def test_a_strategy_of_the_users_own_sees_the_tidied_history(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("def prepare(messages, budget):\n    return messages\n")
    assert sent(looked("issues", strategy=f"tidy+{path}")) == sent(looked("issues", strategy="tidy"))


def test_the_forecast_says_what_tidy_would_save() -> None:
    session = looked("issues")
    saves = forecast_prompt(session).tidy_saves
    assert saves == 1549 - 331
    paper = Paper(100, drawn=False)
    run_command(session, "/context next", paper.console)
    run_command(session, "/strategy none", paper.console)
    assert f"tidy+observation-masking would save {saves:,} of these tokens" in paper.text
    assert f"tidy+none would save {saves:,} of these tokens" in paper.text
    before = forecast_prompt(session).tokens
    session.use_strategy("tidy+none")
    after = forecast_prompt(session)
    assert (after.tokens, after.tidy_saves) == (before - saves, 0)


def test_a_small_saving_is_not_mentioned(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("words " * 900)
    session = scripted([tool_call("read_file", path="a.txt")], "So.", files=tmp_path, budget=20_000)
    ask(session)
    assert forecast_prompt(session).tidy_saves == 0


def test_a_file_with_the_setting_of_old_is_told_where_it_went(tmp_path: Path) -> None:
    (tmp_path / "thimble.toml").write_text("tidy = true\n")
    with pytest.raises(UsageError) as caught:
        resolve_settings({}, {}, tmp_path)
    assert 'strategy = "tidy+observation-masking"' in caught.value.fix


def test_a_copy_of_a_tidied_result_is_not_whole() -> None:
    tidy = Message("m", "tool", "x", ref=LOSSLESS)
    assert tidy.rewritten("[gone]", "why").ref == ""
