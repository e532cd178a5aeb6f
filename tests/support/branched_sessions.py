"""Sessions whose model says the same to the same words, with a journal on disk or in memory."""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import redirect_stdout
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.histories import TinyCounter, outcome
from tests.support.scripted import Reply, Scripted
from tests.support.sessions import Paper, ask, tool_call
from thimble.agent.errors import ThimbleError
from thimble.agent.loop import prepare
from thimble.agent.messages import Message, Schema
from thimble.agent.protocols import Text
from thimble.models import make_reader
from thimble.repl.commands.table import run_command
from thimble.session.journal.journal import Journal
from thimble.session.journal.state import saved_state
from thimble.session.session import Session
from thimble.session.settings import Settings

CALLS = 3_000


def says(messages: Sequence[Message], tools: Sequence[Schema]) -> Reply:
    """Two calls for a question, then an answer; for a strategy that asks, a summary."""
    if not tools:
        return "A summary."
    if messages[-1].role == "tool":
        return f"That is it, of {len(messages)} messages."
    note = tool_call("save_note", 2, title=f"n{len(messages)}", text="noted")
    return [Text("I look. "), tool_call("read_article", 1, slug="observation-masking"), note]


class Actor(Scripted):
    """In the reader's place, so that a journal that is resumed finds it there."""

    name, model = "reader", make_reader().model

    def __init__(self) -> None:
        super().__init__([says] * CALLS, TinyCounter())


def session_in(path: Path | None = None, **settings: Any) -> Session:
    """A session; it goes on with the journal in this file, if there is one."""
    journal = Journal.reopen(path) if path and path.exists() else Journal(path)
    lines = journal.tree.path(journal.tree.current)
    told = saved_state(lines) if lines else None
    resume_settings = {"strategy": told.strategy, "budget": told.budget} if told else {}
    session = Session(Settings(backend="reader", **{**settings, **resume_settings}), journal, told)
    session.agent.use(Actor())
    return session


def run(session: Session, text: str, drawn: bool = False, width: int = 80) -> str:
    """Type a line: a command and the question that it hands on, or a question. What a command prints."""
    paper = Paper(width, drawn)
    if text.startswith("/"):
        with redirect_stdout(io.StringIO()):
            text = run_command(session, text, paper.console) or ""
    if text:
        ask(session, text)
    return "\n".join(map(str.rstrip, paper.lines)).strip()


def stands(session: Session) -> Any:
    """All that the next call depends on, and that call, as it is now."""
    agent = session.agent
    following = outcome(lambda: prepare(agent, agent.next_call()))
    list(agent.side.drain_events())  # what this look has asked is no part of the session
    # what the server has cached comes of all branches, and is no part of one
    view = (
        following.what
        if isinstance(following, ThimbleError)
        else replace(following, cached=0, prefill=0, whole_cached=0)
    )
    state, facts = agent.state.copy(), [one.fact for one in session.planted]
    remembered = deepcopy((getattr(agent.strategy, "state", None), session.notes.kept))
    return state.history, state.ledger, remembered, view, session.spec, agent.limit, facts, state.overrides


def sent(session: Session) -> list[tuple[Message, ...]]:
    """What the model was sent, call by call."""
    backend = session.agent.backend
    assert isinstance(backend, Actor)
    return [request.messages for request in backend.requests]
