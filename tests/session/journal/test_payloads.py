"""What would steer a terminal goes through a journal unchanged, and the file itself is printable ASCII."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.doors import Doing
from tests.support.family import family
from tests.support.histories import TinyCounter
from tests.support.journal_scenes import tape
from tests.support.payloads import ALL
from tests.support.scripted import Scripted
from tests.support.sessions import tool_call
from thimble.agent.protocols import Sent, Text, Thinking
from thimble.session.journal.journal import Journal
from thimble.session.journal.state import SavedState
from thimble.session.session import Session
from thimble.session.settings import Settings

AT_ONCE = 20
"""Payloads in one session: what an exchange costs grows with those before it."""
SETTINGS = Settings(backend="reader", strategy="none", budget=2_000_000)


@pytest.mark.parametrize("first", family(range(0, len(ALL), AT_ONCE)))
def test_every_payload_comes_back_and_the_file_is_printable_ascii(first: int, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "one.jsonl")
    session = Session(SETTINGS, journal)
    agent = session.agent
    entered = tape(session)
    for payload in ALL[first : first + AT_ONCE]:
        call = tool_call(payload, 1, a=payload)
        session.agent.use(
            Scripted([[Sent(payload, payload), Thinking(payload), Text(payload), call], payload], TinyCounter())
        )
        agent.strategy = Doing(payload)
        list(session.ask(payload))
    data = (tmp_path / "one.jsonl").read_bytes()
    assert all(byte == 10 or 32 <= byte < 127 for byte in data)
    lines, damage = journal.read()
    assert not damage
    then = SavedState()
    assert [then.read(line) for line in lines][1:] == entered
    assert not then.lost
