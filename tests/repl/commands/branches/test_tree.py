"""/tree: every branch and what it has cost of its own."""

from __future__ import annotations

from tests.support.branched_sessions import run, session_in
from thimble.repl.commands.branches.tree import accounts
from thimble.session.session import Session


def grown() -> Session:
    """Three exchanges, a fork behind the first, and one that grew from that."""
    session = session_in(budget=4000)
    for number in (1, 2, 3):
        run(session, f"Question {number}?")
    run(session, "/fork 1 none")
    run(session, "Another?")
    run(session, "/fork 2 truncate")
    run(session, "/tree 1")
    run(session, "/fork 0")
    run(session, "/tree 2")
    return session


def test_what_is_shared_is_counted_once() -> None:
    session = grown()
    found = {one.number: one for one in accounts(session.journal.tree)}
    assert [(one.parent, one.behind) for one in found.values()] == [(0, 0), (1, 1), (2, 2), (1, 0)]
    assert [one.question for one in found.values()] == ["Question 3?", "Another?", "", ""]
    ledger = session.agent.ledger
    shared = found[1].calls[: len(ledger.calls) - len(found[2].calls)]
    assert [*shared, *found[2].calls] == ledger.calls
