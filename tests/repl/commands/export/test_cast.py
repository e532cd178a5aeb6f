"""The recording keeps to asciicast v3, and a terminal that plays it shows the session."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pyte
import pytest

from agent.events import Said
from agent.protocols import Text
from repl.commands.export.cast import THINKING_SECONDS
from session.journal.journal import Journal
from session.session import Session
from tests.support.exported import export, read
from tests.support.sessions import ask, scripted, tool_call


def recording(session: Session, folder: Path) -> tuple[dict[str, Any], list[tuple[float, str, str]]]:
    head, *events = [json.loads(line) for line in export(session, "asciicast", folder).splitlines()]
    return head, [(seconds, code, data) for seconds, code, data in events]


def played(head: dict[str, Any], events: list[tuple[float, str, str]]) -> str:
    """What a terminal shows in the end, without the blanks."""
    screen = pyte.Screen(head["term"]["cols"], 500)
    stream = pyte.Stream(screen)
    for _, code, data in events:
        if code == "o":
            stream.feed(data)
    return "".join("".join(screen.display).split())


def test_it_keeps_to_the_format(tmp_path: Path) -> None:
    head, events = recording(read(), tmp_path)
    assert head["version"] == 3
    assert head["term"]["cols"] == 90
    assert isinstance(head["timestamp"], int)
    assert [data for _, code, data in events if code == "m"] == [
        "Read the article about context windows",
        "What is observation masking?",
    ]
    assert events[-1][1:] == ("x", "0")
    assert {code for _, code, _ in events[:-1]} == {"o", "m"}
    assert all(seconds >= 0 for seconds, _, _ in events)


def test_what_is_played_is_the_session(tmp_path: Path) -> None:
    session = read()
    shown = played(*recording(session, tmp_path))
    drawing = ElementTree.fromstring(export(session, "svg", tmp_path))
    texts = ["".join("".join(piece.itertext()).split()) for piece in drawing.iter() if piece.tag.endswith("text")]
    assert "readingtokens" not in shown
    assert all(text in shown for text in texts)


def test_swaps_are_shown_as_what_was_typed(tmp_path: Path) -> None:
    session = read(2500, "What is observation masking?")
    session.use_strategy("sliding-window")
    session.use_budget(3000)
    ask(session, "And then?")
    shown = played(*recording(session, tmp_path))
    assert "›/strategysliding-window" in shown
    assert "›/budget3000" in shown


def test_an_answer_that_was_stopped_is_told_to_be(tmp_path: Path) -> None:
    session = scripted([Text("Half of "), Text("it.")], "So.")
    events = session.ask("What is it?")
    while not isinstance(next(events), Said):
        pass
    events.close()
    ask(session, "And now?")
    shown = played(*recording(session, tmp_path))
    assert "stopped" in shown.partition("Andnow?")[0]
    assert "stopped" not in shown.partition("Andnow?")[2]


def test_times_are_those_of_the_session_but_for_who_thinks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(1_700_000_000, 1_800_000_000, 7))
    monkeypatch.setattr("session.journal.journal.time.time", lambda: float(next(clock)))
    session = scripted([Text("I look."), tool_call("search_articles", 1, query="x")], "So.", "Then.")
    session.parts.journal = Journal()
    ask(session)
    for _ in range(1000):
        next(clock)
    ask(session, "And?")
    _, events = recording(session, tmp_path)
    marks = [seconds for seconds, code, _ in events if code == "m"]
    assert max(marks) <= THINKING_SECONDS
    lines = session.journal.read()[0]
    worked = 7 * (len(lines) - 1 - 2)
    assert sum(seconds for seconds, _, _ in events) == pytest.approx(worked + sum(marks), abs=0.1)
