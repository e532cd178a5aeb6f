"""A session that is resumed is the session that it was: laws over strategies, and over every place to be killed at."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from agent.errors import ThimbleError
from agent.events import Event
from agent.ledger import Ledger
from agent.loop import prepare
from agent.messages import Message
from agent.protocols import Sent, Text, Waiting
from agent.view import View
from models.scripted import Scripted, Step
from repl.journal.file import Journal
from repl.journal.past import past
from repl.journal.tree import Tree
from repl.session import Session, open_session
from repl.settings import Settings
from tests.histories import TinyCounter
from tests.repl.sessions import tool_call

SPECS = [
    "none",
    "observation-masking:window=1",
    "progressive-summary",
    "hybrid:window=1",
    "thrifty",
    "notes+sliding-window",
]
READ = [
    tool_call("read_article", 1, slug="observation-masking"),
    tool_call("save_note", 2, title="on \x1b[31mred", text="half a letter: \ud800"),
]
REPLY: list[Step] = [
    [Waiting("loading", 0.0), Sent("http://there/", '{"half": "\\ud83d"}'), Text("I look. "), *READ],
    tool_call("search_articles", 3, query="masking"),
    "That is it \x7f\u2028.",
]


def kept_in(path: Path, *steps: Step, **settings: Any) -> Session:
    """A session with a scripted model, its journal in this file."""
    journal = Journal.reopen(path) if path.exists() else Journal(path)
    told = past(Tree(lines).path(1)) if (lines := journal.read()[0]) else None
    session = open_session(Settings(backend="reader", **settings), journal, told)
    session.use(Scripted(steps, TinyCounter()))
    return session


def state(session: Session) -> tuple[list[Message], Ledger, Any, Any, View | str]:
    """All that the next call depends on, and that call."""
    agent = session.agent
    try:
        view: View | str = prepare(agent, 1)
    except ThimbleError as error:
        view = error.what
    kept = getattr(agent.strategy, "state", None)
    return agent.history, agent.ledger, kept, session.notes.kept, view


def uncompared(session: Session) -> Any:
    """What two equal views may differ in."""
    view = session.agent.ledger.view
    return view and (view.history, view.left_out, [(one.why, one.covers, one.ref) for one in view.messages])


def ask(session: Session, question: str, until: int = 1000) -> list[Event]:
    """The events, broken off behind so many."""
    seen: list[Event] = []
    with closing(session.ask(question)) as events:
        for event in events:
            seen.append(event)
            if len(seen) == until:
                break
    return seen


@pytest.mark.parametrize("spec", SPECS)
def test_the_next_call_is_the_one_that_would_have_been_sent(spec: str, tmp_path: Path) -> None:
    path = tmp_path / "one.jsonl"
    live = kept_in(path, *REPLY * 3, *["a summary"] * 40, strategy=spec, budget=2500)
    for question in ("What is masking?", "And what else?"):
        ask(live, question)
    live.plant("The code is 4711.")
    live.journal.close()
    again = kept_in(path, strategy=spec, budget=2500)
    assert state(again) == state(live)
    assert not again.notices
    assert uncompared(again) == uncompared(live)


@pytest.mark.parametrize("spec", ["observation-masking:window=1", "hybrid:window=1"])
def test_killed_at_any_byte_it_is_the_session_that_was_stopped_behind_the_last_whole_event(
    spec: str, tmp_path: Path
) -> None:
    """Of the events of two exchanges, each with the line that it stands on."""
    live = kept_in(tmp_path / "live.jsonl", *REPLY * 2, *["a summary"] * 40, strategy=spec, budget=2000)
    ask(live, "What is masking?")
    whole = (tmp_path / "live.jsonl").read_bytes()
    ends = [at + 1 for at, byte in enumerate(whole) if byte == 10]
    for number in range(1, len(ends)):  # the first line says what was begun, behind it is the first event
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(whole[: (ends[number] + ends[number - 1]) // 2])
        again = kept_in(path, strategy=spec, budget=2000)
        stopped = kept_in(tmp_path / f"stopped-{number}", *REPLY * 2, *["a summary"] * 40, strategy=spec, budget=2000)
        if number > 1:
            ask(stopped, "What is masking?", until=number - 1)
        assert again.agent.history == stopped.agent.history
