from __future__ import annotations

import re
import signal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.repl.screen.test_sanitise import FORBIDDEN, NASTY
from tests.support.ollama_server import Download, Ollama, served
from tests.support.sessions import Paper
from thimble.models.ollama.server import PullProgress
from thimble.repl.commands.pull import describe_progress
from thimble.repl.commands.table import run_command
from thimble.repl.prompt.interrupts import Interrupts
from thimble.session.session import Session
from thimble.session.settings import Settings

LAYERS = {"2bada8a74506": 40_000, "66b9ea09bd5b": 10_000}


def library() -> Ollama:
    """An Ollama with a model to pull."""
    return Ollama(downloads={"big:latest": Download(LAYERS)})


def opened(url: str) -> Session:
    return Session(Settings(backend="ollama", base_url=url))


def test_a_pull_that_was_stopped_keeps_what_it_has_and_goes_on_there() -> None:
    server, paper = library(), Paper(drawn=False)

    def stop_half_way(*_: object) -> None:
        if sum(server.downloads["big:latest"].here.values()) > 20_000:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.raise_signal(signal.SIGINT)

    with served(server) as (_, url):
        session = opened(url)
        server.step_seconds = 0.01
        before = signal.signal(signal.SIGALRM, stop_half_way)
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        try:
            with Interrupts() as interrupts, pytest.raises(KeyboardInterrupt) as caught, interrupts.allowed():
                run_command(session, "/pull big", paper.console)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        told = str(caught.value)
        assert told.startswith("stopped at ")
        assert told.endswith(", kept on the server; to resume: /pull big")
        assert "\n" not in told
        assert "big:latest" not in server.models
        kept = sum(server.downloads["big:latest"].here.values())
        assert 20_000 < kept < 50_000
        server.step_seconds = 0
        again = Paper(drawn=False)
        run_command(session, "/pull big", again.console)
        tenths = [int(found[1]) for line in again.lines if (found := re.search(r"(\d+)% of", line))]
        assert tenths[0] >= 100 * kept // 50_000 // 10 * 10, "it begins where it stopped"
        assert "big:latest" in server.models


@given(NASTY, st.integers(0, 10**20), st.integers(0, 10**20))
def test_whatever_a_server_says_of_its_progress_is_shown_safely(status: str, done: int, total: int) -> None:
    said = describe_progress(PullProgress(status, min(done, total), total))
    assert not FORBIDDEN.search(said)
    assert len(said) < 60
