"""A server that is killed in the middle of a reply. The last of these files: vLLM without a flag is gone afterwards."""

from __future__ import annotations

import pytest

from tests.servers.conftest import Sessions, eventually
from tests.servers.serve import Server, is_gone
from tests.servers.test_sessions import ENDLESS_TOKENS, failure, is_answered
from thimble.agent.errors import ModelError
from thimble.agent.events import ReplyPiece
from thimble.models import READER


def test_a_server_that_dies_in_the_middle_of_a_reply(sessions: Sessions, endless: Server) -> None:
    session = sessions.open(endless, max_turns=1)
    session.agent.max_output = ENDLESS_TOKENS[endless.name]
    events = session.ask(sessions.questions[0].text)
    next(event for event in events if isinstance(event, ReplyPiece))
    endless.kill()
    with pytest.raises(ModelError, match="stopped in the middle of a reply") as caught:
        list(events)
    assert caught.value.fix
    assert [message.role for message in session.agent.history] == ["system", "user"]
    assert "nothing answers" in failure(session, "Are you there?").what
    session.agent.max_turns = 12
    session.use_model(READER)
    assert is_answered(session, sessions)
    assert eventually(lambda: is_gone(endless.process))
