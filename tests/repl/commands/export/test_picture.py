"""The picture shows the session as its terminal did."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

from agent.events import Said
from agent.protocols import Text
from session.session import Session
from tests.support.exported import export, read
from tests.support.sessions import ask, scripted


def shown(session: Session, folder: Path) -> str:
    """The words of the picture, without the blanks."""
    drawing = ElementTree.fromstring(export(session, "svg", folder))
    texts = ("".join(piece.itertext()) for piece in drawing.iter() if piece.tag.endswith("text"))
    return "".join("".join(texts).split())


def test_it_has_questions_answers_and_footers(tmp_path: Path) -> None:
    picture = shown(read(), tmp_path)
    assert "›Readthearticleaboutcontextwindows" in picture
    assert "›Whatisobservationmasking?" in picture
    assert picture.count("turns") >= 2


def test_swaps_are_shown_as_what_was_typed(tmp_path: Path) -> None:
    session = read(2500, "What is observation masking?")
    session.use_strategy("sliding-window")
    session.use_budget(3000)
    ask(session, "And then?")
    picture = shown(session, tmp_path)
    assert "›/strategysliding-window" in picture
    assert "›/budget3000" in picture


def test_an_answer_that_was_stopped_is_told_to_be(tmp_path: Path) -> None:
    session = scripted([Text("Half of "), Text("it.")], "So.")
    events = session.ask("What is it?")
    while not isinstance(next(events), Said):
        pass
    events.close()
    ask(session, "And now?")
    before, _, after = shown(session, tmp_path).partition("Andnow?")
    assert "stopped" in before
    assert "stopped" not in after
