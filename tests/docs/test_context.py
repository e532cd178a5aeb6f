"""The transcript of docs/explanation/history-and-view.md is what the program shows today."""

from __future__ import annotations

import re

from repl.commands.table import obey
from session.session import open_session
from session.settings import Settings
from tests.support.paths import ROOT
from tests.support.sessions import Paper, ask

PAGE = ROOT / "docs" / "explanation" / "history-and-view.md"


def test_the_transcript_is_what_the_program_shows() -> None:
    (transcript,) = re.findall(r"^```text\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    session = open_session(Settings(backend="reader", budget=5_000))
    for question in ("Read the article about context windows", "Now read the article about testing LLM applications"):
        ask(session, question)
    shown = []
    for command in re.findall("^› (.*)$", transcript, re.MULTILINE):
        paper = Paper(80)
        obey(session, command, paper.console)
        shown += [f"› {command}", "", *(line.rstrip() for line in paper.lines), ""]
    assert "\n".join(shown).strip() == transcript.strip()
