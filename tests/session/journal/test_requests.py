"""What goes over the wire: a session that is killed and resumed behind every line sends what one that goes on sends."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.family import family
from tests.support.ollama_server import Model, Ollama, served
from tests.support.sessions import Paper
from thimble.agent.errors import BudgetError
from thimble.repl.commands.table import run_command
from thimble.session.journal import folder as shelf
from thimble.session.journal.journal import Journal
from thimble.session.session import Session
from thimble.session.settings import Settings

SCRIPTS: dict[str, Sequence[str]] = {
    "talk": ("What is masking?", "And what else?", "/strategy hybrid", "And context rot?", "/plant It is 7.", "Thanks"),
    "undo": ("What is masking?", "And what else?", "/undo", "And context rot?", "/retry", "/tree 1", "Thanks"),
    "fork": (
        "What is masking?",
        "Why?",
        "/fork 1 compaction",
        "Why not?",
        "/tree 1",
        "/reset",
        "Is it?",
        "/tree 2",
        "x",
    ),
    "wider": ("/budget 30000", "/budget 6000", "One?", "Two?"),
    "wider later": ("One?", "/budget 30000", "Two?", "/budget 4000", "Three?", "/undo 2", "Four?"),
    "wider elsewhere": ("One?", "/fork", "/budget 30000", "Two?", "/tree 1", "Three?", "/reset", "Four?"),
    "models": ("One?", "/budget 30000", "/budget 4000", "/model small", "Two?", "/undo", "Three?", "/tree 1", "Four?"),
    "reader": ("One?", "/model reader", "Two?", "/model small", "Three?", "/undo 2", "Four?", "/retry summary-buffer"),
    "narrow": ("What is masking?", "/budget 2500", "And what else?", "Why? " * 2000, "/undo", "/retry", "So?"),
}
SPECS = ("observation-masking:window=1", "summary-buffer", "notes+progressive-summary", "delegate")
CASES = [(script, SPECS[at % 4]) for at, script in enumerate(SCRIPTS)]
"""Each script under one SPEC."""


def say(session: Session, line: str) -> None:
    """Type a line."""
    if line.startswith("/"):
        line = run_command(session, line, Paper().console) or ""
    try:
        for _ in session.ask(line) if line else ():
            pass
    except BudgetError:
        pass


def sent(folder: Path, script: Sequence[str], server: Any, killed: bool, **settings: Any) -> list[str]:
    """The bodies of all requests for replies, as they were sent."""
    folder.mkdir()
    asked = Settings(session_dir=folder, timeout=30, price="cached=0.1,output=4", calls="tools", **settings)
    session = Session(asked, Journal(folder / "one.jsonl"))
    for line in script:
        say(session, line)
        if killed and session.journal.begun:
            session.journal.close()
            again = Settings(base_url=settings["base_url"])  # no session brings an address along
            session = Session(*shelf.reopen_session(again, folder / "one.jsonl"))
    session.journal.close()
    return [re.sub(r"call_\d{8}", "call", json.dumps(body)) for body in server()]  # that server counts all requests


@pytest.mark.parametrize(("script", "spec"), family(CASES, CASES[1]))
def test_ollama(script: str, spec: str, tmp_path: Path) -> None:
    both = []
    for killed in (False, True):
        with served(Ollama({"big:latest": Model(context=100_000), "small:latest": Model(context=100_000)})) as (
            server,
            url,
        ):
            told = {"backend": "ollama", "base_url": url, "model": "big", "strategy": spec, "budget": 5000}
            both.append(sent(tmp_path / str(killed), SCRIPTS[script], server.sent, killed, **told))
    assert both[0] == both[1]
