"""What of a session goes into its journal beside the events, and how a session becomes again what it was."""

from __future__ import annotations

import json
from collections.abc import Container, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from agent.errors import UsageError
from agent.events import Preparing, Said
from agent.history import History
from agent.messages import Message
from agent.protocols import Waiting
from models import READER
from models.wire.address import hidden
from session.journal.records import (
    VERSION,
    Branched,
    Change,
    Limited,
    Named,
    Opened,
    Record,
    Remark,
    Remodelled,
    Swapped,
    Switched,
)
from session.journal.state import Past, past
from session.session import strategy_of
from session.settings import address_of
from session.trust import check_strategy

if TYPE_CHECKING:
    from agent.agent import Agent
    from session.journal.journal import Journal
    from session.session import Session

SHAPING = ("base_url", "summariser", "price", "corpus", "files", "budget", "max_turns", "think", "stream", "keep_alive")
"""The settings that shape what a model is sent, beside those that can be swapped."""
WHO = ("backend", "base_url", "model")
"""The settings that say which model answers."""
QUIET = Said | Waiting | Preparing | Branched | Switched | Remark
"""Records behind which the session remembers what it did before."""
IN_MEMORY = "The session goes on in memory; what is missing is written as soon as that can be done."

ALONE = "The session is kept all the same: open it in one thimble at a time."


def opened(session: Session, agent: Agent) -> Opened:
    """The first line, as the session is now."""
    settings = session.settings
    told = {name: getattr(settings, name) for name in SHAPING}
    told |= {name: str(told[name]) for name in ("corpus", "files")}
    told["budget"] = session.backends.widest
    told["base_url"] = address_of(agent.backend.name, settings) if agent.backend.name != READER else ""
    told |= {name: "" for name in ("base_url", "summariser") if hidden(told[name]) != told[name]}
    return Opened(
        version=VERSION,
        id=session.journal.id,
        system=agent.system,
        strategy=session.spec,
        limit=agent.limit,
        backend=agent.backend.name,
        model=agent.backend.model,
        settings=told,
    )


def _kept(session: Session, agent: Agent, record: Record) -> str:
    """What the session remembers beside history and ledger, as JSON; "" where this record cannot have changed it."""
    if isinstance(record, QUIET):
        return ""
    kept = {"notes": session.notes.state, "learnt": getattr(agent.backend.counter, "learnt", None)}
    try:
        return json.dumps({"strategy": getattr(agent.strategy, "state", None), **kept})
    except Exception:  # a strategy of the user's own, whose state fails or is not JSON: on resume it begins anew
        return json.dumps(kept)


def past_of(journal: Journal) -> Past:
    """What a journal tells of the branch that it was left on, and what of the whole could not be read."""
    tree = journal.tree
    told = past(tree.path(tree.current))
    told.lost[:0] = [f"line {damage.number}" for damage in journal.damaged]
    told.name, told.widest = tree.name, tree.widest
    return told


def settings_of(past: Past, others: Container[str] = ()) -> dict[str, object]:
    """The settings with which the session goes on, where `others` are asked for: with another server another model."""
    own: dict[str, object] = {name: value for name, value in past.opened.settings.items() if name in SHAPING}
    own |= {"strategy": past.strategy, "budget": past.limit, "backend": past.backend, "model": past.model}
    elsewhere = "backend" in others or "base_url" in others or ("model" in others and past.backend == READER)
    return {name: value for name, value in own.items() if value != "" and not (elsewhere and name in WHO)}


def write(session: Session, agent: Agent, record: Record) -> None:
    """Write to the journal what has happened. What is changed before anything was asked stands in its first line."""
    if not session.journal.begun:
        if isinstance(record, Change) and not isinstance(record, Named):
            return
        append(session, opened(session, agent))
    append(session, record, agent.history, _kept(session, agent, record))


def append(session: Session, record: Record, history: Sequence[Message] = (), kept: str = "") -> None:
    """Write a record, and tell the user where that fails, or works again."""
    journal = session.journal
    waited = journal.error
    journal.write(record, history, kept)
    if journal.unlocked:
        session.notices.append(f"The journal cannot be locked: {journal.unlocked}. {ALONE}")
        journal.unlocked = ""
    if journal.error and not waited:
        session.notices.append(f"The journal cannot be written: {journal.error}. {IN_MEMORY}")
    elif waited and not journal.error:
        session.notices.append("The journal can be written again, and nothing of the session is missing in it.")


def resume(session: Session, agent: Agent, past: Past) -> None:
    """Make a session that was just made what it was, but for what other settings were asked for."""
    restore(session, agent, past)
    model = (agent.backend.name, agent.backend.model)
    if session.spec != past.strategy:
        write(session, agent, Swapped(session.spec))
    if agent.limit != past.limit:
        write(session, agent, Limited(agent.limit))
    if model != (past.backend, past.model):
        write(session, agent, Remodelled(*model))
    agent.close_calls()


def begin_anew(session: Session) -> None:
    """An empty session of the same strategy, budget and model; what was is another branch."""
    agent = session.agent
    then = Past()
    then.change(opened(session, agent))
    now = Swapped(session.spec), Limited(agent.limit), Remodelled(agent.backend.name, agent.backend.model)
    _become(session, then, _branched(session, 1), *now)


def branch(session: Session, after: int, *changes: Change) -> None:
    """See `Session.branch`."""
    tree = session.journal.tree
    then = past(line for line in tree.path(tree.current) if line.number <= after)
    for change in changes:
        then.change(change)
    _become(session, then, _branched(session, after), *changes)


def _branched(session: Session, after: int) -> Branched:
    there = session.journal.tree.branches
    return Branched(next(number for number in count(1) if number not in there), after)


def switch(session: Session, number: int) -> None:
    """See `Session.switch`."""
    tree = session.journal.tree
    if number not in tree.branches:
        raise UsageError(f"there is no branch {number}", "/tree shows the branches")
    _become(session, past(tree.path(number)), Switched(number))


def _become(session: Session, then: Past, *changes: Change) -> None:
    """Be what the session was then; the changes are written behind it. Raises ThimbleError, and nothing has changed."""
    agent = session.agent
    if then.strategy not in session.said:
        check_strategy(then.strategy)
    backend = agent.backend
    if (backend.name, backend.model) != (then.backend, then.model):
        backend = session.backends.of(then.model, then.backend)
    agent.strategy, agent.limit = strategy_of(then.strategy, agent.side), then.limit
    agent.strategy_name = session.spec = then.strategy
    session.guess = None
    session.use(session.backends.widened(backend))
    restore(session, agent, then)
    for change in changes:
        session.record(change)
    agent.close_calls()


def restore(session: Session, agent: Agent, past: Past) -> None:
    """All of a session that a past tells of, as it was."""
    agent.history, agent.ledger = History(past.history), past.ledger
    session.planted[:] = past.planted
    remember(session, agent, past)


def remember(session: Session, agent: Agent, past: Past) -> None:
    """Notes, and what strategy and counter remembered, as they were."""
    kept = past.kept or {}
    _give_back(session, "the notes", session.notes, "state", kept.get("notes") or {"notes": []})
    if kept.get("strategy") is not None and session.spec == past.strategy:
        _give_back(session, f"what {past.strategy} remembered", agent.strategy, "state", kept["strategy"])
    if kept.get("learnt") is not None and (agent.backend.name, agent.backend.model) == (past.backend, past.model):
        _give_back(session, "what was learnt of counting", agent.backend.counter, "learnt", kept["learnt"])


def _give_back(session: Session, what: str, to: Any, name: str, value: Any) -> None:
    """Set what was remembered; where it does not fit any more, say so and go on without."""
    if not hasattr(to, name):
        return
    try:
        setattr(to, name, value)
    except Exception:  # what a state does when it is set, the user's own code may say
        session.notices.append(f"The journal's word on {what} cannot be used: it begins anew.")
