from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.repl.screen.test_sanitise import FORBIDDEN, NASTY
from tests.support.sessions import Paper, ask, scripted, tool_call, type_command
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


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_help_and_is_listed(name: str) -> None:
    session = scripted()
    assert COMMANDS[name].usage.split()[0] == f"/{name}"
    assert COMMANDS[name].summary in said(session, f"/help {name}") == said(session, f"/help /{name}")
    assert COMMANDS[name].usage in said(session, "/help")


@pytest.mark.parametrize("width", [1, 3, 10])
@pytest.mark.parametrize("drawn", [True, False])
def test_no_terminal_is_too_narrow(width: int, drawn: bool) -> None:
    session = scripted([tool_call("list_articles")], "So.")
    ask(session)
    for command in ("/stats", "/tree", "/context", "/context next", "/context 3", "/context 1-3", "/why 3", "/help"):
        assert run_command(session, command, Paper(width, drawn=drawn, height=1).console) is not None
