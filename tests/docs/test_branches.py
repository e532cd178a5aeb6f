"""docs/how-to/branches.md shows what the commands print today."""

from __future__ import annotations

import re

from session.session import open_session
from session.settings import Settings
from tests.support.branched_sessions import run
from tests.support.paths import ROOT

PAGE = ROOT / "docs" / "how-to" / "branches.md"
TYPED = (
    "What is observation masking?",
    "And what helps against context rot?",
    "/fork 1 none",
    "What are KV caches?",
    "/retry truncate",
    "/undo",
    "/tree 1",
    "/tree",
)


def shown() -> str:
    """The page's session at 80 columns; seconds are blanked, and answers left out."""
    session = open_session(Settings(backend="reader", budget=3_000))
    told = []
    for text in TYPED:
        printed = run(session, text, drawn=True).removeprefix("\x1b[?25h")
        told.append(f"› {text}\n{printed}".rstrip())
    return re.sub(r"\b\d+\.\d(?=   )", "  …", "\n\n".join(told))


def test_the_page_shows_what_is_printed() -> None:
    assert shown() in PAGE.read_text()
