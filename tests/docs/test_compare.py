"""docs/compare.md shows what the commands print today."""

from __future__ import annotations

import re
from collections.abc import Sequence

from corpus.questions import load
from session.session import open_session
from session.settings import Settings
from tests.repl.commands.compare.test_replay import text_of
from tests.support.paths import ROOT
from tests.support.sessions import ask

PAGE = ROOT / "docs" / "compare.md"
DIALOGUE = "dialogue-h10"
QUESTIONS = (
    "How well did humans do on the WebArena tasks?",
    "What is observation masking?",
    "And what does the article about KV caches say of prefixes?",
)


def printed(questions: Sequence[str], budget: int, command: str) -> str:
    """What a command prints after these questions, at 80 columns; seconds are blanked."""
    session = open_session(Settings(backend="reader", budget=budget))
    for question in questions:
        ask(session, question)
    text = text_of(session, command, drawn=True).removeprefix("\x1b[?25h")
    text = "\n".join(map(str.rstrip, text.splitlines())).strip()
    return re.sub(r"\b\d+\.\d(?=  )", "  …", text)


def shown() -> list[str]:
    """What the two commands of the page print."""
    dialogue = next(one for one in load().questions if one.id == DIALOGUE)
    *before, last = (exchange.question for exchange in dialogue.exchanges)
    return [printed(QUESTIONS, 3_000, "/compare"), printed(before, 2_000, f"/compare run {last}")]


def test_the_page_shows_what_is_printed() -> None:
    page = PAGE.read_text()
    for text in shown():
        assert text in page
