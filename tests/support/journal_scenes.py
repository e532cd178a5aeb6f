"""Sessions with much in them, whose model is scripted from the first moment on, and which are kept in a file."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

from tests.support.estimate import EstimateCounter
from tests.support.scripted import Reply, Scripted, ScriptedRequest
from tests.support.sessions import tool_call
from thimble.agent.errors import ModelError, ThimbleError
from thimble.agent.events import Entry, Event
from thimble.agent.messages import Message, Schema
from thimble.agent.protocols import Sent, Text, Thinking, Usage, Waiting
from thimble.session.journal.journal import Journal
from thimble.session.session import Session
from thimble.session.settings import Settings

QUESTIONS = ("What is masking? both note", "And then? fail", "What does it save? both stop", "x" * 40_000, "So? both")
"""What is asked in a scene. `both` has two tools called at once, `note` one kept, `fail` ends at the server."""
SPECS = [
    "none",
    "observation-masking:window=1",
    "progressive-summary",
    "hybrid:window=1",
    "thrifty",
    "notes+sliding-window",
]
"""One of each kind."""


def say(messages: Sequence[Message], tools: Sequence[Schema]) -> Reply:
    """What a model says that knows only what it is sent: two sessions that send the same are told the same."""
    if not tools:
        of = f"{len(messages)} messages of [observation-masking]"
        return f"In brief, after {of}: \x1b[31m\ud800 half a letter, a \x7f and a \u2028."
    asked = max(at for at, message in enumerate(messages) if message.role == "user")
    question, read = messages[asked].content, len(messages) - asked
    letters = sum(len(message.content) for message in messages)
    usage = Usage(1200 + letters // 4, letters // 8, output_tokens=7, prefill_seconds=0.25, decode_seconds=0.5)
    if read > 3:
        return ModelError("it went away", "wait") if "fail" in question else [Thinking("so"), Text("So it is."), usage]
    if read > 1:
        return [tool_call("search_articles", 9, query="masking"), usage]
    calls = [tool_call("read_article", 1, slug="observation-masking")]
    calls += [tool_call("read_article", 2, slug="context-windows")] if "both" in question else []
    calls += [tool_call("save_note", 3, title="on \x1b[31mred", text="half: \ud800")] if "note" in question else []
    return [Waiting("loading", 0.0), Sent("http://there/", json.dumps(len(messages))), Text("I look. "), *calls, usage]


class Kept(Session):
    """A session whose model says that, with a counter that learns."""

    @property
    def requests(self) -> list[ScriptedRequest]:
        """What the model was sent."""
        backend = self.agent.backend
        assert isinstance(backend, Scripted)
        return backend.requests


def keep(path: Path, **settings: Any) -> Kept:
    """A session in this file, which goes on from what that holds."""
    journal = Journal.reopen(path) if path.exists() else Journal(path)
    session = Kept(Settings(backend="reader", **settings), journal, journal.state())
    session.backends.first_backend = lambda: Scripted([say] * 500, EstimateCounter())  # type: ignore[method-assign]
    return session


def ask(session: Session, question: str, until: int = 10_000) -> tuple[list[Event], str]:
    """The events, broken off behind so many, and what went wrong."""
    seen: list[Event] = []
    try:
        with closing(session.ask(question)) as events:
            for event in events:
                seen.append(event)
                if len(seen) == until:
                    break
    except ThimbleError as error:
        return seen, error.what
    return seen, ""


def state(session: Session) -> dict[str, Any]:
    """All that what comes next depends on, as it stands now: nothing in it changes with the session."""
    agent = session.agent
    return {
        "history": [whole(message) for message in agent.history],
        "ledger": replace(agent.ledger, calls=[*agent.ledger.calls], tools=[*agent.ledger.tools]),
        "strategy": deepcopy(getattr(agent.strategy, "state", None)),
        "notes": deepcopy(session.notes.state),
        "planted": deepcopy(session.planted),
        "overrides": agent.state.overrides,
        "learnt": getattr(agent.backend.counter, "learnt", None),
        "spec": (session.spec, agent.strategy_name, agent.limit, agent.backend.id),
        "view": uncompared(session),
    }


def uncompared(session: Session) -> Any:
    """What two views that are equal may differ in."""
    view = session.agent.ledger.view
    return view and ([*map(whole, view.history)], dict(view.left_out), [*map(whole, view.messages)])


def whole(message: Message) -> tuple[object, ...]:
    """All fields of a message, also those that no comparison looks at."""
    return message, message.why, message.covers, message.ref


def tape(session: Session) -> list[Entry]:
    """All that the agent enters from here on, as it is entered."""
    entered: list[Entry] = []
    agent = session.agent
    write: Callable[[Entry], None] | None = agent.record

    def record(event: Entry) -> None:
        entered.append(event)
        if write:
            write(event)

    agent.record = record
    return entered
