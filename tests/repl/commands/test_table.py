from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.repl.screen.test_sanitise import FORBIDDEN, NASTY
from tests.support.sessions import Paper, ask, scripted, tool_call, type_command
from thimble.agent.errors import ThimbleError
from thimble.commands.forecast import forecast
from thimble.repl.commands.table import COMMANDS, run_command
from thimble.session.session import Session


def said(session: Session, text: str, drawn: bool = False) -> str:
    paper = Paper(drawn=drawn)
    assert type_command(session, text, paper.console) == ""
    return paper.text


@given(
    NASTY | st.sampled_from(["/", "/ stats", "/Stats", "//", "/strategy none", "/budget -1", "/model x", "/stats 1"])
)
def test_whatever_is_typed_is_told_and_never_asked(text: str) -> None:
    session, paper = scripted(), Paper(drawn=False)
    type_command(session, f"/{text}", paper.console)
    assert session.agent.history == []
    assert not FORBIDDEN.search(paper.text)


def test_help_lists_every_command_under_its_family() -> None:
    shown = Paper(80)
    type_command(scripted(), "/help", shown.console)
    family, listed = "", []
    for line in shown.lines:
        family = family if line.startswith("  ") else line
        listed += [(line.split()[0][1:], family)] if line.startswith("  /") else []
    assert listed == [(name, known.family) for name, known in COMMANDS.items()]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_help_and_is_listed(name: str) -> None:
    session = scripted()
    assert COMMANDS[name].usage.split()[0] == f"/{name}"
    assert COMMANDS[name].summary in said(session, f"/help {name}")
    assert COMMANDS[name].summary in said(session, f"/help /{name}")
    assert COMMANDS[name].usage in said(session, "/help")


@pytest.mark.parametrize(
    ("typed", "meant"), [("/strateg", "strategy"), ("/stat", "stats"), ("/rest", "reset"), ("/QUIT", "quit")]
)
def test_an_unknown_command_suggests_the_nearest(typed: str, meant: str) -> None:
    text = said(scripted(), typed)
    assert text.splitlines()[0] == f"error: there is no command {typed}"
    assert f"did you mean /{meant}?" in text


@pytest.mark.parametrize(
    "text",
    [
        "/quit now",
        "/stats all",
        "/reset 1",
        "/budget ten",
        "/budget 1",
        "/budget " + "9" * 5000,
        "/strategy x",
        "/help x",
    ],
)
def test_what_is_wrong_is_one_line_and_its_mending_another(text: str) -> None:
    session = scripted()
    with pytest.raises(ThimbleError) as raised:
        run_command(session, text, Paper().console)
    assert raised.value.fix
    assert said(session, text) == f"error: {raised.value.what}\nfix: {raised.value.fix}\n"
    drawn = said(session, text, drawn=True).splitlines()
    assert drawn[0].startswith("✗ ")
    assert drawn[1].startswith("  ")


def test_a_swap_keeps_the_history_and_says_what_comes_next() -> None:
    session = scripted([tool_call("read_article", slug="observation-masking")], "So.", "Again.")
    ask(session)
    history = list(session.agent.history)
    text = said(session, "/strategy observation-masking:when=always,window=0")
    assert session.agent.history == history
    assert "starts again from the full history" in text
    promised = forecast(session)
    assert f"{promised.tokens:,} of 4,000" in text
    ask(session, "")
    view = session.agent.ledger.view
    assert view is not None
    assert (view.tokens, promised.settled) == (promised.tokens, True)


def test_reset_says_what_goes_and_what_stays() -> None:
    session = scripted("So.", strategy="hybrid", budget=4_000)
    ask(session)
    session.notes.save("title", "text")
    messages = len(session.agent.history)
    text = said(session, "/reset")
    assert f"Branch 1 keeps its {messages} messages and 1 note: /tree 1 goes back to it." in text
    assert "hybrid" in text
    assert "4,000" in text
    assert session.agent.history == []


@pytest.mark.parametrize("width", [1, 2, 3, 9, 10, 11])
@pytest.mark.parametrize("drawn", [True, False])
def test_no_terminal_is_too_narrow(width: int, drawn: bool) -> None:
    session = scripted([tool_call("list_articles")], "So.")
    ask(session)
    for command in ("/stats", "/tree", "/context", "/context next", "/context 3", "/context 1-3", "/why 3", "/help"):
        assert run_command(session, command, Paper(width, drawn=drawn, height=1).console) is not None
