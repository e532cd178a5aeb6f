"""Laws of branches: what is gone back to is the same to the byte, a branch stays as it was left, nothing is lost."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.branched_sessions import run, sent, session_in, stands
from tests.support.journal_scenes import SPECS
from thimble.agent.errors import BudgetError, UsageError
from thimble.agent.events import Replied, SideCalled
from thimble.repl.commands.branches.tree import make_accounts
from thimble.session.journal.journal import Journal
from thimble.session.journal.tree import Tree
from thimble.session.session import Session

QUESTIONS = ("What is masking?", "And what else?", "Who says so?")


@pytest.mark.parametrize("spec", SPECS)
def test_what_is_undone_and_asked_again_is_sent_byte_for_byte(spec: str) -> None:
    session = session_in(strategy=spec, budget=2500)
    before = []
    for question in QUESTIONS:
        before.append((stands(session), len(sent(session))))
        run(session, question)
    end, calls = stands(session), len(sent(session))
    for back in (1, 3, 2):
        run(session, f"/undo {back}")
        was, since = before[-back]
        assert stands(session) == was
        there = len(sent(session))
        for question in QUESTIONS[-back:]:
            run(session, question)
        assert sent(session)[there:] == sent(session)[since:calls]
        run(session, "/tree 1")
        assert stands(session) == end


NUMBERS = st.integers(0, 4)
LINES = st.one_of(
    st.sampled_from(("What is masking?", "And what else?", "Why? " * 500)),
    st.sampled_from(
        ("/fork", "/undo", "/retry", "/reset", "/tree", "/budget 2500", "/budget 500", "/plant The code is 7.")
    ),
    st.builds("/fork {}".format, NUMBERS),
    st.builds("/fork {} {}".format, NUMBERS, st.sampled_from(SPECS)),
    st.builds("/undo {}".format, NUMBERS),
    st.builds("/tree {}".format, NUMBERS),
    st.builds("/retry {}".format, st.sampled_from(SPECS)),
    st.builds("/strategy {}".format, st.sampled_from(SPECS)),
    st.just("resume"),
)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(LINES, min_size=2, max_size=12))
def test_whatever_is_typed_every_branch_stands_as_it_was_left(typed: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "one.jsonl"
        session = session_in(path, budget=2500)
        left: dict[int, Any] = {}
        written = b""
        for line in typed:
            here, was = session.journal.tree.current, stands(session)
            session = resumed(session, path) if line == "resume" else session
            try:
                run(session, line.removeprefix("resume"))
            except BudgetError:
                pass  # of a question, not of a command
            except UsageError:
                assert stands(session) == was
            if session.journal.tree.current != here:
                left[here] = was
            now = path.read_bytes() if path.exists() else b""
            assert now.startswith(written)  # nothing is ever rewritten
            written = now
        left[session.journal.tree.current] = stands(session)
        same_tree(session.journal)
        for again in (session, resumed(session, path)):
            for number, was in left.items() if session.journal.count else ():
                again.switch(number)
                assert stands(again) == was
            again.journal.close()


def resumed(session: Session, path: Path) -> Session:
    """The session that goes on from the journal, where there is one by now."""
    session.journal.close()
    return session_in(path) if path.exists() else session


def same_tree(journal: Journal) -> None:
    """The tree at hand is the one on disk, and its accounts are those of all that was answered, each once."""
    lines, damaged = journal.read()
    assert not damaged
    whole = Tree(lines)
    assert (whole.current, [*whole.branches]) == (journal.tree.current, [*journal.tree.branches])
    for number, branch in journal.tree.branches.items():
        kept = {line.number for line in branch.lines}
        assert branch.lines == [line for line in whole.branches[number].lines if line.number in kept]
    calls = sum(len(one.calls) for one in make_accounts(journal.tree))
    assert calls == sum(isinstance(line.record, Replied | SideCalled) for line in lines)
