"""A journal of version 1, written before journals held remarks, opens and goes on as it was left."""

from __future__ import annotations

import shutil
from pathlib import Path

from agent.protocols import ModelId
from agent.repair import is_sound
from session.journal.folder import listed, reopened
from session.journal.journal import Journal
from session.session import open_session
from session.settings import Settings
from tests.support.sessions import ask

HERE = Path(__file__).parent / "recorded" / "version-1.jsonl"


def test_it_is_listed() -> None:
    found = listed(HERE)
    assert (found.name, found.trouble, len(found.questions)) == ("a talk", "", 3)
    assert found.model == ModelId("reader", "extractive")


def test_every_line_of_it_is_read(tmp_path: Path) -> None:
    path = Path(shutil.copy(HERE, tmp_path))
    journal = Journal.reopen(path)
    trunk, branch = journal.state(1), journal.state(2)
    assert (trunk.lost, branch.lost, sorted(journal.tree.branches)) == ([], [], [1, 2])
    assert (trunk.strategy, trunk.limit, trunk.ledger.exchanges) == ("progressive-summary", 1200, 2)
    assert (branch.strategy, branch.limit) == ("observation-masking:window=1", 2500)
    assert [planted.fact for planted in trunk.planted] == ["The launch code is 4711."]
    assert is_sound(trunk.history)
    assert trunk.ledger.view
    assert trunk.ledger.view.messages
    journal.close()


def test_it_goes_on(tmp_path: Path) -> None:
    path = Path(shutil.copy(HERE, tmp_path))
    here = Settings(origins={"corpus": "flag --corpus", "files": "flag --files"})  # those of then are elsewhere
    session = open_session(*reopened(here, path))
    before = len(session.agent.history)
    ask(session, "What breaks a prefix cache?")
    assert len(session.agent.history) > before
    assert not session.notices
    session.journal.close()
    assert Journal.reopen(path).state().lost == []
