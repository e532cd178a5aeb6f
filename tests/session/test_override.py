"""What the user decides about messages is of the session: kept, undone, forked and played as all else in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.session.test_playback import deck
from tests.support.branched_sessions import run, session_in, stands
from tests.support.sessions import scripted, tool_call
from thimble.agent.agent import Agent
from thimble.agent.errors import UsageError
from thimble.agent.loop import prepare
from thimble.agent.override import Decision, Override
from thimble.session.journal.journal import Journal
from thimble.session.override import override_message
from thimble.session.playback import read_recording
from thimble.session.session import Session

OPENING = [tool_call("read_article", slug="observation-masking", section="Opening")]


def decisions(session: Session) -> list[tuple[str, Decision]]:
    return [(one.id, one.deed) for one in session.agent.state.overrides.values()]


def sent(agent: Agent) -> dict[str, str]:
    return {message.id: message.content for message in prepare(agent, agent.next_call()).messages}


def test_it_is_kept_and_comes_again_where_the_session_is_reopened_or_forked(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    session = session_in(path, strategy="sliding-window:window=1", budget=6000)
    for line in (
        "What is masking?",
        "/pin 4",
        "/drop 6",
        "And then?",
        "/edit 8 In short: \x1b[31m4711.",
        "/drop off 6",
    ):
        run(session, line)
    assert decisions(session) == [("m4", "pinned"), ("m8", "edited")]
    was = stands(session)
    session.leave()
    again = session_in(path)
    assert stands(again) == was
    assert again.agent.state.overrides == session.agent.state.overrides
    assert {"m4": again.agent.history[3].content, "m8": "In short: \x1b[31m4711."}.items() <= sent(again.agent).items()
    assert sent(again.fork("none"))["m8"] == sent(again.agent)["m8"]
    run(again, "/undo")
    assert decisions(again) == [("m4", "pinned"), ("m6", "dropped")]
    run(again, "/reset")
    assert decisions(again) == []


def test_a_played_session_has_it(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    session, lines = session_in(path), ("What is masking?", "/drop 4", "And then?", "/why 4")
    _ = [run(session, line) for line in lines]
    session.leave()
    played = deck(read_recording(path.read_bytes(), "it"))
    assert [text for _, text in played.playback.recording.typed_lines] == [*lines]  # type: ignore[union-attr]
    assert [run(played, line) for line in lines][-1].endswith("you dropped it.")
    assert decisions(played) == [("m4", "dropped")]


def test_the_newest_decision_about_a_turn_counts() -> None:
    session = session_in()
    run(session, "What is masking?")
    override_message(session, 4, "pinned")
    assert override_message(session, 3, "dropped") == [3, 4, 5]
    assert decisions(session) == [("m3", "dropped")]
    override_message(session, 5, "pinned")
    assert decisions(session) == [("m5", "pinned")]
    override_message(session, 3, "")
    assert decisions(session) == []


@pytest.mark.parametrize(
    ("place", "deed"),
    [(1, "dropped"), (2, "dropped"), (2, "edited"), (1, "pinned"), (0, "pinned"), (7, "pinned")],
)
def test_what_the_laws_decide_is_refused(place: int, deed: Decision) -> None:
    session = session_in()
    run(session, "What is masking?")
    with pytest.raises(UsageError) as refused:
        override_message(session, place, deed, "text")
    assert refused.value.fix
    assert decisions(session) == []


def test_a_pin_that_is_too_large_is_told_at_once(tmp_path: Path) -> None:
    session = session_in(budget=2000)
    run(session, "What is masking?")
    assert "It is over the budget." in run(session, "/edit 6 " + "word " * 2_000)
    assert "It is over the budget." not in run(session, "/edit off 6")


def test_no_summary_tells_of_what_was_dropped() -> None:
    session = scripted(
        OPENING, "It hides.", OPENING, "Half.", "Read: [observation-masking].", "Done.", strategy="compaction"
    )
    for line in ("What is masking?", "And what does it save?", "/compact", "And now?"):
        run(session, line)
    assert any(message.covers for message in session.agent.ledger.view.messages)  # type: ignore[union-attr]
    override_message(session, 4, "dropped")
    assert not [message for message in prepare(session.agent, session.agent.next_call()).messages if message.covers]


def test_a_line_that_decides_what_cannot_be_decided_is_damage(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    session = session_in(path)
    run(session, "What is masking?")
    session.journal.write(Override("m4", "burnt"))  # type: ignore[arg-type]
    session.leave()
    assert len(Journal.reopen(path).damaged) == 1


def test_what_a_decision_replaces_is_said() -> None:
    session = session_in()
    run(session, "What is masking?")
    run(session, "/pin 4")
    assert "Undone" not in run(session, "/pin 4")
    assert "Undone: message 4 pinned." in run(session, "/drop 3")
    assert "Undone: message 3 dropped." in run(session, "/edit 4 In short: yes.")
